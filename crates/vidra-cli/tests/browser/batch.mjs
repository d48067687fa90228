// The transcripts of a whole playlist.
import assert from "node:assert/strict";
import { asked, becomes, look, PACED, saved, text } from "./support.mjs";

look("a batch streams all transcripts and saves them", { at: "/?id=PLsize200" }, async (page) => {
  await page.locator("tbody tr").first().waitFor();
  // Records every value of the progress bar; the number of updates depends on the machine.
  await page.evaluate(() => {
    const seen = (window.seen = []);
    const note = () => seen.push(document.querySelector("progress")?.value ?? 0);
    new MutationObserver(note).observe(document.getElementById("view"), {
      subtree: true,
      childList: true,
      attributeFilter: ["value"],
    });
  });
  await page.getByRole("button", { name: "Fetch all transcripts" }).click();
  await becomes(async () => (await text(page, ".batch .outcome").catch(() => "")).startsWith("Done: "), true);
  const seen = await page.evaluate(() => window.seen);
  assert.equal(seen.at(-1), 200);
  assert.deepEqual(
    seen,
    [...seen].sort((one, other) => one - other),
    "the progress never decreases",
  );
  assert.deepEqual(await page.locator("progress").evaluate((bar) => [bar.value, bar.max]), [200, 200]);
  const whole = await asked("/api/playlist/PLsize200/transcript", {});
  assert.equal(await text(page, ".outcome"), `Done: ${whole.succeeded} transcripts, ${whole.failed} failed`);
  assert.equal(await page.locator(".results .success").count(), whole.succeeded);
  assert.equal(await page.locator(".results .failed").count(), whole.failed);
  assert.equal(await text(page, "#live"), await text(page, ".outcome"), "the outcome is announced to screen readers");

  assert.match(await text(page, ".trail > p"), /, not including the stream\.$/);

  const [ndjson, lines] = await saved(page, () =>
    page.getByRole("button", { name: "Save as NDJSON" }).click(),
  );
  assert.equal(ndjson, "PLsize200.ndjson");
  const results = lines
    .toString()
    .trim()
    .split("\n")
    .map((line) => JSON.parse(line));
  assert.deepEqual(
    [...results].sort((one, other) => one.position - other.position),
    whole.results,
  );
  const [zip, bytes] = await saved(page, () => page.getByRole("button", { name: "Save as ZIP" }).click());
  assert.equal(zip, "PLsize200.zip");
  const names = namesIn(bytes);
  assert.equal(names.length, 1 + 2 * whole.succeeded);
  const good = whole.results.find(({ status }) => status === "success");
  assert.ok(names.includes(`${String(good.position).padStart(4, "0")}-${good.videoId}.txt`), names[1]);
});

look("videos without a transcript show the reason", { at: "/?id=PLquirkUnavailable" }, async (page) => {
  await page.getByRole("button", { name: "Fetch all transcripts" }).click();
  await becomes(() => text(page, ".outcome").catch(() => ""), "Done: 20 transcripts, 10 failed");
  const { results } = await asked("/api/playlist/PLquirkUnavailable/transcript", {});
  const errors = results.filter(({ status }) => status === "failed").map(({ error }) => error);
  assert.deepEqual((await page.locator(".results .failed .state").allInnerTexts()).sort(), errors.sort());
});

look(
  "a stopped batch keeps its results",
  { at: "/?id=PLsize50", service: PACED },
  async (page) => {
    await page.getByRole("button", { name: "Fetch all transcripts" }).click();
    await becomes(() => page.locator(".results li").count(), 5);
    await becomes(async () => /Waiting about \d+ seconds\. The service limits/.test(await text(page, ".batch")), true);
    assert.equal(await page.locator("progress").evaluate((bar) => bar.value), 5);
    const underWay = async () =>
      /^vidra_batches_under_way (\d+)$/m.exec(await (await fetch(`${PACED}/metrics`)).text())[1];
    assert.equal(await underWay(), "1");
    await page.getByRole("button", { name: "Stop" }).click();
    await becomes(async () => /^Stopped after 5 of 50: /.test(await text(page, ".outcome")), true);
    await becomes(underWay, "0", "the service has ended the batch");
    const [, lines] = await saved(page, () => page.getByRole("button", { name: "Save as NDJSON" }).click());
    assert.equal(lines.toString().trim().split("\n").length, 5);
    await page.getByRole("button", { name: "Fetch them again" }).waitFor();
  },
);

look("leaving the page ends the batch", { at: "/?id=PLsize100", service: PACED }, async (page) => {
  const batches = async () =>
    /^vidra_batches_under_way (\d+)$/m.exec(await (await fetch(`${PACED}/metrics`)).text())[1];
  await page.getByRole("button", { name: "Fetch all transcripts" }).click();
  await becomes(batches, "1");
  await page.getByRole("link", { name: "vidra, start page" }).click();
  await becomes(batches, "0");
});

/** The names in the directory at the end of an archive. */
function namesIn(zip) {
  const names = [];
  for (
    let at = zip.indexOf("PK\x01\x02", "latin1");
    at >= 0;
    at = zip.indexOf("PK\x01\x02", at + 4, "latin1")
  ) {
    names.push(zip.toString("utf-8", at + 46, at + 46 + zip.readUInt16LE(at + 28)));
  }
  return names;
}
