// A video: its data, its transcript, and saved files.
import assert from "node:assert/strict";
import { fetchJson, saved, testPage, text, waitUntilEqual } from "./support.mjs";

testPage("the transcript can be saved in every format", { at: "/?id=txManualAsr" }, async (page) => {
  const beginnings = {
    SRT: /^1\r?\n00:00:00,163 --> /,
    VTT: /^WEBVTT/,
    TXT: /^Hello and welcome/,
    JSON: /^\[\{"text":/,
  };
  for (const [format, beginning] of Object.entries(beginnings)) {
    const [name, bytes] = await saved(page, () =>
      page.getByRole("link", { name: format, exact: true }).click(),
    );
    assert.equal(name, `txManualAsr.en.${format.toLowerCase()}`);
    assert.match(bytes.toString(), beginning);
  }
});

testPage("another language can be chosen", { at: "/?id=txManyLang_" }, async (page) => {
  await page.locator(".lines li").first().waitFor();
  const before = await text(page, ".lines li");
  await page.getByRole("button", { name: "Other languages" }).click();
  await page.getByLabel("Language").selectOption("ja");
  await waitUntilEqual(async () => (await text(page, ".lines li")) !== before, true);
  const lines = await fetchJson("/api/transcript/txManyLang_?lang=ja");
  assert.ok((await text(page, ".lines li")).endsWith(lines[0].text.replace(/\s+/g, " ").trim()));
  assert.equal(new URL(page.url()).searchParams.get("lang"), "ja");
  assert.equal(await page.locator(".lines li span").first().getAttribute("lang"), lines[0].lang);
});

testPage(
  "hidden counts and disabled comments are shown as such",
  { at: "/?id=quirkNoComm", allowed: /403/ },
  async (page) => {
    await waitUntilEqual(
      () =>
        page
          .locator(".numbers dd")
          .allInnerTexts()
          .then((all) => all[2]),
      "hidden",
    );
    await waitUntilEqual(() => page.locator(".comments .none").innerText(), "Comments are disabled: quirkNoComm.");
    assert.equal(await page.locator("[role=alert]").count(), 0, "nothing failed");
  },
);

testPage("comments show their replies", { at: "/?id=quirkManyRp" }, async (page) => {
  const summary = page.locator(".replies summary").first();
  await waitUntilEqual(() => summary.innerText(), "250 replies, the first 5");
  await summary.click();
  assert.equal(await page.locator(".replies").first().locator(".comment").count(), 5);
});

const EVIL = `<img src=x onerror="document.title='pwned'"><script>document.title='pwned'</script>\${7*7}{{7*7}}"'`;

/** Replaces every text of an answer except identifiers by a malicious one. */
function poisoned(value, name = "") {
  if (Array.isArray(value)) return value.map((item) => poisoned(item, name));
  if (value && typeof value === "object") {
    return Object.fromEntries(Object.entries(value).map(([key, item]) => [key, poisoned(item, key)]));
  }
  const isKept = /^(id|videoId|playlistId|status|type|languageCode|publishedAt|url)$|Id$|At$/.test(name);
  return typeof value === "string" && !isKept ? EVIL : value;
}

for (const [what, id, places] of [
  ["a video", "_RNzP9gya20", ["main h1", ".lines li span", ".comment .written", ".numbers dd"]],
  ["a playlist", "PLsize50", ["main h1", "tbody th a", ".results a"]],
  ["a channel", "@fermata", ["main h1", ".tile strong"]],
]) {
  const prepare = (page) =>
    page.route(/\/api\/(?!url\/)/, async (route) => {
      const answer = await route.fetch();
      if (answer.headers()["content-type"] !== "text/event-stream")
        return route.fulfill({ response: answer, json: poisoned(await answer.json()) });
      const lines = (await answer.text())
        .split("\n")
        .map((line) =>
          line.startsWith("data: ") ? `data: ${JSON.stringify(poisoned(JSON.parse(line.slice(6))))}` : line,
        );
      return route.fulfill({ response: answer, body: lines.join("\n") });
    });
  testPage(`untrusted text is shown as text: ${what}`, { at: `/?id=${id}`, prepare }, async (page) => {
    await page.locator("main h1").waitFor();
    if (id === "PLsize50") await page.getByRole("button", { name: "Fetch all transcripts" }).click();
    for (const place of places) {
      await waitUntilEqual(
        () =>
          page
            .locator(place)
            .first()
            .innerText()
            .then((it) => it.includes("onerror")),
        true,
        place,
      );
      assert.ok((await page.locator(place).first().innerText()).startsWith("<img"), place);
    }
    assert.equal(await page.locator("main img[src=x], main script").count(), 0);
    await waitUntilEqual(() => page.title(), `${EVIL} – vidra`.replace(/\s+/g, " "));
  });
}

testPage(
  "thumbnails are loaded from the platform without a referrer",
  {
    at: "/?id=fda4eREcaTQ",
    prepare: async (page) => {
      await page.route("**/web/settings.json", (route) =>
        route.fulfill({ json: { isDemo: false, examples: [] } }),
      );
      const svg =
        '<svg xmlns="http://www.w3.org/2000/svg" width="640" height="360"><rect width="640" height="360" fill="red"/></svg>';
      await page.route(/^https:\/\/i\.ytimg\.com\//, (route) => {
        assert.equal(route.request().headers().referer, undefined);
        return route.fulfill({ contentType: "image/svg+xml", body: svg });
      });
      // Profile images fail to load, so the placeholder stays.
      await page.route(/^https:\/\/yt3\.ggpht\.com\//, (route) => route.abort());
    },
    allowed: /ERR_FAILED/,
    simulated: /ytimg|ggpht/,
  },
  async (page) => {
    const shown = (selector) =>
      page
        .locator(selector)
        .first()
        .evaluate((image) => getComputedStyle(image).opacity);
    await waitUntilEqual(() => shown(".watch img"), "1");
    assert.match(
      await page.locator(".watch img").getAttribute("src"),
      /^https:\/\/i\.ytimg\.com\/vi\/fda4eREcaTQ\//,
    );
    await page.locator(".comment img").first().waitFor({ state: "attached" });
    await waitUntilEqual(() => shown(".comment img"), "0");
    assert.ok(await page.locator(".comment .picture svg").first().isVisible());
  },
);

testPage("the demo shows drawings instead of thumbnails", { at: "/?id=fda4eREcaTQ" }, async (page) => {
  await page.locator(".watch svg").waitFor();
  assert.equal(await page.locator("main img").count(), 0);
});

testPage("the language that was chosen last is shown", { at: "/?id=txManyLang_" }, async (page) => {
  await page.locator(".lines li").first().waitFor();
  await page.getByRole("button", { name: "Other languages" }).click();
  let release;
  const held = new Promise((resolve) => {
    release = resolve;
  });
  await page.route(/[?]lang=ja$/, async (route) => {
    await held;
    await route.continue();
  });
  await page.getByLabel("Language").selectOption("ja");
  await page.getByLabel("Language").selectOption("de");
  const [german] = await fetchJson("/api/transcript/txManyLang_?lang=de");
  const first = async () => (await text(page, ".lines li").catch(() => "")).replace(/^[\d:]+ /, "");
  await waitUntilEqual(first, german.text.replace(/\s+/g, " ").trim());
  const late = page.waitForResponse(/[?]lang=ja$/);
  release();
  await (await late).finished();
  await page.waitForTimeout(300);
  assert.equal(await first(), german.text.replace(/\s+/g, " ").trim());
});

testPage("missing lengths and hidden counts are shown consistently", { at: "/?id=quirkLiveOn", allowed: /404/ }, async (page) => {
  await waitUntilEqual(
    () =>
      page
        .locator(".numbers dd")
        .allInnerTexts()
        .then((all) => all[3]),
    "–",
  );
  // A playlist whose first video hides its views and has no length.
  await page.route("**/api/playlist/*", async (route) => {
    const answer = await route.fetch();
    const list = await answer.json();
    Object.assign(list.videos[0], { views: 0, hidden: ["views"], duration: 0, durationFmt: "0:00" });
    await route.fulfill({ response: answer, json: list });
  });
  await page.fill("#id", "PLsize50");
  await page.keyboard.press("Enter");
  const row = page.locator("tbody tr").first().locator("td");
  await waitUntilEqual(async () => (await row.allInnerTexts()).slice(1, 3), ["–", "hidden"]);
  assert.match(await text(page, ".headline"), /Does not include the hidden views of 1 video\./);
  const labels = await page
    .locator(".plot [role=img]")
    .evaluateAll((all) => all.map((it) => it.getAttribute("aria-label")));
  assert.doesNotMatch(labels.join(), /from 0(:00)? to/);
});
