// The API reference: its examples work unchanged.
import assert from "node:assert/strict";
import { asked, becomes, look, text } from "./support.mjs";

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

look("operations can be executed with their examples", { at: "/docs", timeout: 300_000 }, async (page) => {
  const { paths } = await asked("/openapi.json");
  const operations = Object.values(paths).flatMap((methods) => Object.values(methods));
  await becomes(() => page.locator(".opblock").count(), operations.length, "all are listed");
  const tried = operations.filter(({ operationId }) => process.env.VIDRA_LONG || SOME.includes(operationId));
  for (const { operationId, tags } of tried) {
    const block = `#operations-${tags[0]}-${operationId}`;
    await page.locator(`${block} .opblock-summary-control`).click();
    await page.locator(`${block} .execute`).click();
    const status = `${block} .live-responses-table tbody .response-col_status`;
    await becomes(async () => (await text(page, status).catch(() => "")).slice(0, 3), "200", operationId);
    await page.locator(`${block} .opblock-summary-control`).click();
  }
});

look(
  "a call shows the response and its curl command",
  { at: "/docs#/Videos/get_video", allowed: /deep link/ },
  async (page) => {
    const block = "#operations-Videos-get_video";
    await page.locator(`${block} input`).first().fill("quirkNoLike");
    await page.locator(`${block} .execute`).click();
    const answer = `${block} .live-responses-table tbody`;
    await becomes(async () => /"id": "quirkNoLike"/.test(await text(page, answer).catch(() => "")), true);
    assert.match(await text(page, answer), /x-quota-cost: \d/);
    assert.match(await text(page, `${block} .curl`), /\/api\/video\/quirkNoLike/);
  },
);
