// From a link to its resource, and back.
import assert from "node:assert/strict";
import { PACED, testPage, text, waitUntilEqual } from "./support.mjs";

const VIDEO = "Saudade em Três – full session";

testPage("a pasted link is shown, and back and forward work", { at: "/" }, async (page) => {
  await waitUntilEqual(() => page.evaluate(() => document.activeElement.id), "id", "the input has the focus");
  await page.keyboard.insertText("https://www.youtube.com/watch?v=fda4eREcaTQ&t=43");
  await page.keyboard.press("Enter");
  await waitUntilEqual(() => page.title(), `${VIDEO} – vidra`);
  await waitUntilEqual(() => text(page, "main h1"), VIDEO);
  const address = new URL(page.url());
  assert.equal(address.searchParams.get("id"), "https://www.youtube.com/watch?v=fda4eREcaTQ&t=43");
  await page.getByRole("link", { name: "Fermata Sessions" }).click();
  await waitUntilEqual(() => text(page, "main h1"), "Fermata Sessions");
  await waitUntilEqual(() => page.locator(".tile").count(), 24);
  await page.locator(".tile").nth(1).click();
  await waitUntilEqual(() => text(page, "main h1"), "A 5/4 groove (Official Audio)");
  await page.goBack();
  await waitUntilEqual(() => text(page, "main h1"), "Fermata Sessions");
  await page.goBack();
  await waitUntilEqual(() => text(page, "main h1"), VIDEO);
  await waitUntilEqual(() => page.inputValue("#id"), address.searchParams.get("id"));
  await page.goBack();
  await page.getByRole("heading", { name: "Paste a link. See what is behind it." }).waitFor();
  await waitUntilEqual(() => page.locator("main h1").count(), 0);
  await page.goForward();
  await waitUntilEqual(() => text(page, "main h1"), VIDEO);
});

testPage("every kind of identifier leads to its resource", { at: "/" }, async (page) => {
  for (const [id, title] of [
    ["@fermata", "Fermata Sessions"],
    ["fermata", "Fermata Sessions"],
    ["https://www.youtube.com/c/LanternBayTapes", "Lantern Bay Tapes"],
    ["@müsliküche", "Müsliküche"],
    ["https://youtu.be/fda4eREcaTQ?si=x", VIDEO],
    ["https://www.youtube.com/playlist?list=PLsize1", "Documented: PLsize1"],
    ["  PLsize1 ", "Documented: PLsize1"],
  ]) {
    await page.fill("#id", id);
    await page.getByRole("button", { name: "Show" }).click();
    await waitUntilEqual(() => text(page, "main h1"), title, id);
  }
});

testPage(
  "a video of a playlist leads to the playlist",
  { at: "/?id=https%3A%2F%2Fwww.youtube.com%2Fwatch%3Fv%3Dfda4eREcaTQ%26list%3DPLsize1" },
  async (page) => {
    await waitUntilEqual(() => text(page, "main h1"), VIDEO);
    await page.getByRole("link", { name: "Show the whole playlist" }).click();
    await waitUntilEqual(() => text(page, "main h1"), "Documented: PLsize1");
  },
);

testPage("every example of the start page is shown", { at: "/", allowed: /status of/ }, async (page) => {
  const links = page.locator(".examples a code");
  await links.first().waitFor();
  const ids = await links.allInnerTexts();
  assert.ok(ids.length > 10);
  for (const id of ids) {
    await page.fill("#id", id);
    await page.keyboard.press("Enter");
    await page.waitForFunction(() => document.querySelector("main h1") && !document.querySelector(".loading"));
    const [shown] = (await page.locator("main").innerText()).split("Requests and quota cost");
    assert.doesNotMatch(shown, /undefined|NaN|null|\[object|Invalid Date/, id);
  }
});

testPage(
  "each request shows its cost and its curl command",
  { at: "/?id=PLsize200", service: PACED },
  async (page, context) => {
    await context.grantPermissions(["clipboard-read", "clipboard-write"]);
    await page.locator("main h1").waitFor();
    const request = page.locator(".trail li").first();
    await waitUntilEqual(
      async () => (await request.locator(".facts").innerText()).split(/\s+/).slice(0, 4),
      ["200", "miss", "9", "units"],
    );
    assert.match(await text(page, ".trail > p"), /^9 units of the day's quota for 1 request\.$/);
    await request.locator("summary").click();
    const line = `curl ${new URL(page.url()).origin}/api/playlist/PLsize200`;
    assert.equal(await request.locator(".curl code").innerText(), line);
    await waitUntilEqual(
      async () => /^\{\n  "id": "PLsize200",\n/.test(await request.locator(".json").innerText()),
      true,
    );
    await request.getByRole("button", { name: "Copy" }).click();
    await waitUntilEqual(() => page.evaluate(() => navigator.clipboard.readText()), line);
    await page.reload();
    await waitUntilEqual(
      async () => (await request.locator(".facts").innerText()).split(/\s+/).slice(0, 4),
      ["200", "hit", "0", "units"],
      "the cost of the second request",
    );
  },
);

testPage(
  "curl commands quote pasted text",
  { at: "/?id=it's%20%24(reboot)", allowed: /400/ },
  async (page) => {
    await page.locator(".trouble").waitFor();
    await page.locator(".trail summary").click();
    const line = await page.locator(".curl code").innerText();
    assert.ok(line.includes(`-d '{"url":"it'\\''s $(reboot)"}'`), line);
  },
);

testPage("a page is announced once, and the focus follows the navigation", { at: "/" }, async (page) => {
  await page.evaluate(() => {
    window.announced = [];
    const live = document.getElementById("live");
    new MutationObserver(() => window.announced.push(live.textContent)).observe(live, { childList: true });
  });
  const focused = () => page.evaluate(() => document.activeElement.id);
  const settled = () =>
    page.waitForFunction(() => document.querySelector("main h1") && !document.querySelector(".loading"));
  await page.fill("#id", "fda4eREcaTQ");
  await page.keyboard.press("Enter");
  await waitUntilEqual(() => text(page, "main h1").catch(() => ""), VIDEO);
  await settled();
  assert.equal(await focused(), "id", "the search input keeps the focus");
  await page.getByRole("link", { name: "Fermata Sessions" }).click();
  await waitUntilEqual(() => text(page, "main h1").catch(() => ""), "Fermata Sessions");
  assert.equal(await focused(), "view");
  await waitUntilEqual(() => page.evaluate(() => window.announced), [`${VIDEO} – vidra`, "Fermata Sessions – vidra"]);
});

testPage("a pending answer is shown when it arrives", { at: "/" }, async (page) => {
  let release;
  const held = new Promise((resolve) => {
    release = resolve;
  });
  await page.route("**/api/playlist/*", async (route) => {
    await held;
    await route.continue();
  });
  await page.fill("#id", "PLsize1");
  await page.keyboard.press("Enter");
  const request = page.locator(".trail li").first();
  await request.locator("summary").click();
  await waitUntilEqual(async () => /has not arrived/.test(await request.locator(".json").innerText()), true);
  release();
  await waitUntilEqual(async () => /^\{\n  "id": "PLsize1",\n/.test(await request.locator(".json").innerText()), true);
});
