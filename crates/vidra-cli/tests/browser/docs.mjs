// The API reference: its examples work unchanged.
import assert from "node:assert/strict";
import { faults, fetchJson, testPage, text, waitUntilEqual } from "./support.mjs";

// One operation of each kind: a list, a handle with non-ASCII letters, many parameters, a body, a stream,
// plain text. `VIDRA_LONG=1` executes them all; Swagger UI takes seconds for each.
const SOME = [
  "get_videos",
  "get_channel",
  "get_transcript",
  "query_playlist",
  "get_playlist_transcripts",
  "get_metrics",
];

testPage("operations can be executed with their examples", { at: "/docs", timeout: 300_000 }, async (page) => {
  const { paths } = await fetchJson("/openapi.json");
  const operations = Object.values(paths).flatMap((methods) => Object.values(methods));
  await waitUntilEqual(() => page.locator(".opblock").count(), operations.length, "all are listed");
  const tried = operations.filter(({ operationId }) => process.env.VIDRA_LONG || SOME.includes(operationId));
  for (const { operationId, tags } of tried) {
    const block = `#operations-${tags[0]}-${operationId}`;
    await page.locator(`${block} .opblock-summary-control`).click();
    await page.locator(`${block} .execute`).click();
    const status = `${block} .live-responses-table tbody .response-col_status`;
    await waitUntilEqual(async () => (await text(page, status).catch(() => "")).slice(0, 3), "200", operationId);
    await page.locator(`${block} .opblock-summary-control`).click();
  }
});

testPage(
  "a call shows the response and its curl command",
  { at: "/docs#/Videos/get_video", allowed: /deep link/ },
  async (page) => {
    const block = "#operations-Videos-get_video";
    await page.locator(`${block} input`).first().fill("quirkNoLike");
    await page.locator(`${block} .execute`).click();
    const answer = `${block} .live-responses-table tbody`;
    await waitUntilEqual(async () => /"id": "quirkNoLike"/.test(await text(page, answer).catch(() => "")), true);
    assert.match(await text(page, answer), /x-quota-cost: \d/);
    assert.match(await text(page, `${block} .curl`), /\/api\/video\/quirkNoLike/);
  },
);

const operations = (page) =>
  page.locator(".opblock").evaluateAll((all) => all.map(({ id }) => id.replace(/^operations-[^-]+-/, "")).sort());

testPage("users_30 the filter finds operations by path, summary and description", { at: "/docs" }, async (page) => {
  const { paths } = await fetchJson("/openapi.json");
  const all = Object.entries(paths).flatMap(([path, methods]) =>
    Object.entries(methods).map(([method, it]) => ({
      id: it.operationId,
      text: [it.tags[0], method, path, it.summary, it.description, it.operationId, ...(it.parameters ?? []).map(({ name }) => name)]
        .join(" ")
        .toLowerCase(),
    })),
  );
  const filter = page.getByLabel("Find an operation");
  for (const phrase of ["/api/playlist/{id}/query", "newest UPLOADS", "playlist transcript", "comments"]) {
    const words = phrase.toLowerCase().split(" ");
    const expected = all.filter(({ text }) => words.every((word) => text.includes(word))).map(({ id }) => id);
    assert.ok(expected.length > 0 && expected.length < all.length / 2, phrase);
    await filter.fill(phrase);
    await waitUntilEqual(() => operations(page), expected.sort(), phrase);
    assert.match(await text(page, ".filter [role=status]"), new RegExp(`^${expected.length} operations?$`));
  }
  await filter.fill("no such words");
  await waitUntilEqual(() => operations(page), []);
  await filter.fill("");
  await waitUntilEqual(async () => (await operations(page)).length, all.length);
});

for (const colorScheme of ["light", "dark"]) {
  testPage(
    `users_30 an open operation has no fault that axe finds: ${colorScheme}`,
    { at: "/docs", colorScheme, timeout: 180_000 },
    async (page) => {
      for (const block of ["#operations-Videos-get_video", "#operations-Playlists-query_playlist"]) {
        await page.locator(`${block} .opblock-summary-control`).click();
        await page.locator(`${block} .execute`).waitFor();
      }
      await page.locator("#operations-Videos-get_video .execute").click();
      await page.locator(".live-responses-table .microlight").first().waitFor();
      assert.deepEqual(await faults(page), []);
      await page.getByRole("button", { name: "Authorize" }).click();
      await page.locator(".modal-ux").waitFor();
      assert.deepEqual(await faults(page), []);
    },
  );
}

testPage("users_30 the mark of a required parameter is on one line", { at: "/docs" }, async (page) => {
  await page.locator("#operations-Videos-get_video .opblock-summary-control").click();
  const name = page.locator("#operations-Videos-get_video .parameter__name.required");
  // One line of text makes one box.
  const tops = await name.evaluate((it) => {
    const range = document.createRange();
    range.selectNodeContents(it);
    return [...range.getClientRects()].map(({ top, bottom }) => Math.round((top + bottom) / 2));
  });
  assert.ok(Math.max(...tops) - Math.min(...tops) < 12, tops.join());
  const { height } = await name.boundingBox();
  assert.ok(height < 32, `${height} px`);
});

testPage("users_30 the reference looks like the explorer", { at: "/docs" }, async (page) => {
  await page.locator(".opblock").first().waitFor();
  const style = (selector, name) => page.locator(selector).first().evaluate((it, name) => getComputedStyle(it)[name], name);
  const body = await style("body", "fontFamily");
  for (const selector of [".info .title", ".opblock-tag", ".opblock-summary-description"]) {
    assert.equal(await style(selector, "fontFamily"), body, selector);
  }
  assert.equal(await style(".opblock", "backgroundColor"), "rgb(255, 255, 255)");
  assert.equal(await style(".opblock-get .opblock-summary-method", "color"), "rgb(12, 113, 104)");
});
