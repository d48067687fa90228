// The page of collections.
import assert from "node:assert/strict";
import { DEMO, faults, KEY, KEYED, testPage, text, waitUntilEqual } from "./support.mjs";

const put = async (name, body) => {
  const options = { method: "PUT", headers: { "content-type": "application/json" }, body: JSON.stringify(body) };
  const answer = await fetch(`${DEMO}/api/collections/${name}`, options);
  assert.ok(answer.ok, await answer.text());
};

testPage("a collection shows its coverage, its syncs and its units", {}, async (page) => {
  await put("browser", { sources: ["@crowd007", "PLmissing0000000"], limit: 2 });
  const synced = async () => (await (await fetch(`${DEMO}/api/collections/browser`)).json()).lastSync?.state;
  await waitUntilEqual(synced, "completed");
  await page.goto(`${DEMO}/collections`);
  const card = page.locator("article", { hasText: "browser" });
  await card.waitFor();
  const shown = (await card.innerText()).replace(/\s+/g, " ");
  assert.match(shown, /2 of 2 videos/);
  assert.match(shown, /Last sync .* completed · 2 new transcripts · \d+ units/);
  assert.match(shown, /Next sync .* every 6h/);
  assert.match(shown, /Units a day \d{4}-\d\d-\d\d: \d+/);
  await card.locator("summary").click();
  await card.locator("tbody tr").first().waitFor();
  const rows = await card.locator("tbody tr").allInnerTexts();
  assert.match(rows[0], /@crowd007\s+Crowd 7\s+2/);
  assert.match(rows[1], /PLmissing0000000.*not found/s);
  assert.deepEqual(await faults(page), []);
});

testPage("collections need a key too", { at: "/collections", service: KEYED, allowed: /401/ }, async (page) => {
  await page.getByLabel("Key").fill(KEY);
  await page.getByRole("button", { name: "Use it" }).click();
  await waitUntilEqual(() => text(page, "main p.quiet").then((it) => it.slice(0, 18)), "There are none yet");
  assert.deepEqual(await faults(page), []);
  await page.getByRole("button", { name: "Forget the key" }).click();
  await page.getByLabel("Key").waitFor();
});
