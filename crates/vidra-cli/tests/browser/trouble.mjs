// Errors are shown as a sentence with advice.
import assert from "node:assert/strict";
import { readFile } from "node:fs/promises";
import { test } from "node:test";
import { testPage, text, waitUntilEqual } from "./support.mjs";

for (const [id, sentence] of [
  [
    "quirkAbsent",
    "Video not found: quirkAbsent. It may be private or removed, or the link may be incomplete. Check the link and paste it again.",
  ],
  [
    "https://vimeo.com/1",
    "Not a YouTube link: the host is not YouTube's. Paste the link of a video, playlist or channel, an id or an @handle.",
  ],
  [
    "two words",
    "Not a YouTube link: it is neither a YouTube URL nor an identifier. Paste the link of a video, playlist or channel, an id or an @handle.",
  ],
  [
    "PLquirkPrivate",
    "Playlist is not accessible: PLquirkPrivate. Its owner does not show it to the public: it may be private. Try another one.",
  ],
]) {
  testPage(
    `an error is shown as a sentence: ${id}`,
    { at: `/?id=${encodeURIComponent(id)}`, allowed: /40[0-9]/ },
    async (page) => {
      await waitUntilEqual(
        () =>
          page
            .locator(".trouble p")
            .first()
            .innerText()
            .catch(() => ""),
        sentence,
      );
      assert.equal(await page.locator(".trouble").first().getAttribute("role"), "alert");
    },
  );
}

testPage(
  "an unreachable service shows an error and can be retried",
  {
    at: "/",
    allowed: /ERR_CONNECTION_REFUSED/,
  },
  async (page) => {
    const gone = (route) => route.abort("connectionrefused");
    await page.route("**/api/**", gone);
    await page.fill("#id", "fda4eREcaTQ");
    await page.keyboard.press("Enter");
    await waitUntilEqual(
      async () =>
        (await text(page, ".trouble").catch(() => "")).startsWith(
          "The service does not answer. Check that it is running at http://127.0.0.1",
        ),
      true,
    );
    assert.equal(await text(page, "main h1"), "No answer");
    await page.unroute("**/api/**", gone);
    await page.getByRole("button", { name: "Try again" }).click();
    await waitUntilEqual(() => text(page, "main h1"), "Saudade em Três – full session");
    assert.equal(await page.evaluate(() => document.activeElement.id), "view");
  },
);

testPage("a failed part does not affect the others", { at: "/?id=plPrivate__", allowed: /403/ }, async (page) => {
  await waitUntilEqual(
    () =>
      page
        .locator(".transcript .trouble p")
        .innerText()
        .catch(() => ""),
    "Video is private: plPrivate__. Only its owner and invited people can see it.",
  );
  assert.ok(await page.locator("main h1").innerText());
  await page.locator(".comments h2").waitFor();
});

const errorResponse = (status, error, headers = {}) => ({
  allowed: new RegExp(status),
  prepare: (page) =>
    page.route("**/api/video/*", (route) =>
      route.fulfill({ status, headers, json: { error: { code: status, details: [], ...error } } }),
    ),
});

testPage(
  "a rate limit shows the time to wait",
  {
    at: "/?id=fda4eREcaTQ",
    ...errorResponse(429, { message: "Too many requests to this service" }, { "retry-after": "125" }),
  },
  async (page) => {
    await waitUntilEqual(
      () => page.locator(".about .trouble p").innerText(),
      "Too many requests to this service. Wait 2 min 5 s, then try again.",
    );
  },
);

testPage(
  "a missing API key shows advice for the operator",
  {
    at: "/?id=fda4eREcaTQ",
    ...errorResponse(503, {
      reason: "upstream_key_missing",
      message: "The service has no key for the YouTube Data API",
    }),
  },
  async (page) => {
    await waitUntilEqual(
      () => page.locator(".about .trouble p").innerText(),
      "The service has no key for the YouTube Data API. The operator of this service has to configure one. Transcripts of single videos work without one.",
    );
    await page.locator(".lines li").first().waitFor();
  },
);

testPage(
  "a video without captions is not an error",
  { at: "/?id=txNoCaption", allowed: /404/ },
  async (page) => {
    await waitUntilEqual(() => text(page, ".transcript .none").catch(() => ""), "Video has no captions: txNoCaption.");
    assert.equal(await page.locator("[role=alert]").count(), 0);
  },
);

testPage(
  "a missing language lists the available ones",
  { at: "/?id=txManualAsr&lang=xh", allowed: /404/ },
  async (page) => {
    await waitUntilEqual(
      () => text(page, ".transcript .trouble p").catch(() => ""),
      "Video has no captions in that language: txManualAsr. Choose another language.",
    );
    assert.match(await text(page, ".transcript .trouble li"), /^available: /);
  },
);

for (const [status, heading] of [
  [400, "Not found"],
  [429, "That did not work"],
]) {
  testPage(
    `a page that cannot be shown has a heading: ${status}`,
    {
      at: "/?id=https%3A%2F%2Fyoutu.be%2Ffda4eREcaTQ",
      allowed: new RegExp(status),
      prepare: (page) =>
        page.route("**/api/url/parse", (route) =>
          route.fulfill({ status, json: { error: { code: status, message: "No", details: [] } } }),
        ),
    },
    async (page) => {
      await waitUntilEqual(() => text(page, "main h1"), heading);
      assert.equal(await page.title(), `${heading} – vidra`);
    },
  );
}

testPage(
  "a missing module shows a message",
  { at: "/", allowed: /ERR_FAILED/, prepare: (page) => page.route("**/web/plots.js", (route) => route.abort()) },
  async (page) => {
    await page.locator("main .late").waitFor();
    assert.equal(
      await text(page, "main .late"),
      "The explorer has not loaded yet. If this message stays, reload the page.",
    );
  },
);

testPage(
  "users_28 a private video is called private",
  {
    at: "/?id=plPrivate__",
    allowed: /40[34]/,
    // As on the platform: the Data API does not list a private video, and the player returns the reason.
    prepare: (page) =>
      page.route("**/api/video/*", (route) =>
        route.fulfill({
          status: 404,
          json: { error: { code: 404, reason: "video_not_found", message: "Video not found: plPrivate__", details: [] } },
        }),
      ),
  },
  async (page) => {
    await waitUntilEqual(() => text(page, "main h1"), "Private video");
    assert.equal(
      await text(page, ".trouble"),
      "Video is private: plPrivate__. Only its owner and invited people can see it.",
    );
    assert.doesNotMatch(await text(page, ".video"), /not found|removed/);
    assert.equal(await page.title(), "Private video – vidra");
  },
);

test("users_28 the pages know every reason that they can meet", async () => {
  const web = (name) => readFile(new URL(`../../../vidra-server/web/${name}`, import.meta.url), "utf-8");
  const source = (await web("reasons.js")).replace(/^import .*$/m, "const span = String;");
  const { adviceFor, groupText } = await import(`data:text/javascript,${encodeURIComponent(source)}`);
  const table = await readFile(new URL("../../../../docs/reference/errors.md", import.meta.url), "utf-8");
  const reasons = [...table.matchAll(/^\| `(\w+)` \| (\d+) /gm)].map(([, reason, status]) => [reason, Number(status)]);
  assert.ok(reasons.length > 40);
  // Faults of the page itself, and reasons that only other requests get.
  const other =
    /^(invalid_input|rejected_by_upstream|unknown_host|method_not_allowed|body_\w+|not_acceptable|unsupported_media_type|origin_not_allowed|operator_key_required|invalid_cursor|category_not_found|not_found|route_not_found|tool_not_found|captions_disabled|comments_disabled)$/;
  const fallback = adviceFor({ status: 418 }, "");
  for (const [reason, status] of reasons.filter(([reason]) => !other.test(reason))) {
    const advice = adviceFor({ status, reason, retryAfter: 90 }, "");
    assert.ok(advice && advice !== fallback, `${reason} has no advice`);
  }
  const single = /not_found$|^caller_key|^upstream_key|^search_quota|^too_many_batches/;
  for (const [reason] of reasons.filter(([reason]) => !other.test(reason) && (!single.test(reason) || reason === "video_not_found"))) {
    assert.doesNotMatch(groupText(reason, 2, "?"), /^failed: /, `${reason} has no group`);
  }
});
