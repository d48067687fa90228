// The reference: every example in it works as it stands.
import assert from "node:assert/strict";
import { asked, becomes, look, text } from "./support.mjs";

look(
  "every operation of the reference is executed as it stands",
  { at: "/docs", timeout: 180_000 },
  async (page) => {
    const { paths } = await asked("/openapi.json");
    const operations = Object.values(paths).flatMap((methods) => Object.values(methods));
    const blocks = page.locator(".opblock");
    await becomes(() => blocks.count(), operations.length);
    // Without waiting until it is in sight and at rest, as a real click would.
    const press = (selector) => page.locator(selector).dispatchEvent("click");
    for (const { operationId, tags } of operations) {
      const block = `#operations-${tags[0]}-${operationId}`;
      await press(`${block} .opblock-summary-control`);
      await page.locator(`${block} .execute`).click();
      await becomes(
        () =>
          text(page, `${block} .live-responses-table tbody .response-col_status`)
            .catch(() => "")
            .then((it) => it.slice(0, 3)),
        "200",
        operationId,
      );
      await press(`${block} .opblock-summary-control`);
    }
  },
);

look(
  "a call of the reference shows what the service answers",
  { at: "/docs#/Videos/get_video", allowed: /deep link/ },
  async (page) => {
    const block = "#operations-Videos-get_video";
    await page.locator(`${block} input`).first().fill("quirkNoLike");
    await page.locator(`${block} .execute`).click();
    await becomes(
      async () =>
        /"id": "quirkNoLike"/.test(
          await text(page, `${block} .live-responses-table tbody .response-col_description`).catch(() => ""),
        ),
      true,
    );
    assert.match(await text(page, `${block} .live-responses-table`), /x-quota-cost: \d/);
    assert.match(await text(page, `${block} .curl`), /\/api\/video\/quirkNoLike/);
  },
);
