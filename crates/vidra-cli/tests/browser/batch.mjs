// The transcripts of a whole playlist.
import assert from "node:assert/strict";
import { fetchJson, PACED, saved, testPage, text, waitUntilEqual } from "./support.mjs";

testPage("a batch streams all transcripts and saves them", { at: "/?id=PLsize200" }, async (page) => {
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
  await waitUntilEqual(async () => (await text(page, ".batch .outcome").catch(() => "")).startsWith("Done: "), true);
  const seen = await page.evaluate(() => window.seen);
  assert.equal(seen.at(-1), 200);
  assert.deepEqual(
    seen,
    [...seen].sort((one, other) => one - other),
    "the progress never decreases",
  );
  assert.deepEqual(await page.locator("progress").evaluate((bar) => [bar.value, bar.max]), [200, 200]);
  const whole = await fetchJson("/api/playlist/PLsize200/transcript", {});
  assert.equal(await text(page, ".outcome"), `Done: ${whole.succeeded} transcripts, ${whole.failed} failed`);
  assert.equal(await page.locator(".results li").count(), whole.succeeded);
  assert.equal(await page.locator(".failures li").count(), whole.failed);
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

/** How many batches the service runs. */
const running = async () =>
  Number(/^vidra_batches_under_way (\d+)$/m.exec(await (await fetch(`${PACED}/metrics`)).text())[1]);

const fetchAll = (page) => page.getByRole("button", { name: "Fetch all transcripts" }).click();
const outcome = (page) => text(page, ".batch .outcome").catch(() => "");

testPage("users_28 failures are grouped by reason, in plain words", { at: "/?id=PLquirkUnavailable", allowed: /404/ }, async (page) => {
  await fetchAll(page);
  await waitUntilEqual(() => outcome(page), "Done: 20 transcripts, 10 failed");
  const groups = page.locator(".failures summary");
  assert.deepEqual(await groups.allInnerTexts(), ["6 videos are private", "4 videos do not exist"]);
  assert.doesNotMatch(await page.locator(".failures").innerText(), /EXMGzyI8UpE|video_private/, "ids are folded");
  await groups.first().click();
  const link = page.locator(".failures a", { hasText: "EXMGzyI8UpE" });
  assert.ok(await link.isVisible());
  // The Data API reports a private video as missing. The batch has the real reason.
  await link.click();
  await waitUntilEqual(() => text(page, "main h1"), "Private video");
  assert.match(await text(page, ".trouble"), /^Video is private: EXMGzyI8UpE\. Only its owner/);
});

testPage("users_28 the language of a batch is a list", { at: "/?id=PLsize50", locale: "de-DE" }, async (page) => {
  const language = page.getByLabel("Language");
  await waitUntilEqual(() => language.locator("optgroup").first().locator("option").allInnerTexts(), ["German"]);
  assert.ok((await language.locator("option").count()) > 80);
  await language.selectOption("Japanese");
  const [request] = await Promise.all([page.waitForRequest("**/transcript"), fetchAll(page)]);
  assert.equal(request.postDataJSON().lang, "ja");
});

testPage("a stopped batch keeps its results", { at: "/?id=PLsize50", service: PACED }, async (page) => {
  await fetchAll(page);
  await waitUntilEqual(() => page.locator(".results li").count(), 5);
  await waitUntilEqual(async () => /Waiting about \d+ seconds\. The service limits/.test(await text(page, ".batch")), true);
  assert.equal(await page.locator("progress").evaluate((bar) => bar.value), 5);
  assert.equal(await running(), 1);
  await page.getByRole("button", { name: "Stop" }).click();
  await waitUntilEqual(async () => /^Stopped after 5 of 50: /.test(await outcome(page)), true);
  assert.equal(await page.evaluate(() => document.activeElement.className), "start", "the button keeps the focus");
  await waitUntilEqual(running, 0, "the service has ended the batch");
  const [, lines] = await saved(page, () => page.getByRole("button", { name: "Save as NDJSON" }).click());
  assert.equal(lines.toString().trim().split("\n").length, 5);
  await page.getByRole("button", { name: "Fetch all again" }).waitFor();
});

// The test before has cached five transcripts.
testPage("users_25 a batch goes on while another page is shown", { at: "/?id=PLsize50", service: PACED }, async (page) => {
  await fetchAll(page);
  await waitUntilEqual(() => page.locator(".results li").count(), 5);
  await page.locator(".results a").first().click();
  await page.locator(".about h1").waitFor();
  assert.equal(await running(), 1);
  await page.getByRole("link", { name: "vidra, start page" }).click();
  await page.locator(".examples a").first().waitFor();
  assert.equal(await running(), 1);
  assert.match(await text(page, ".notices .outcome"), /^\d+ of 50: \d+ transcripts, 0 failed$/);
  await page.getByRole("link", { name: "Documented: PLsize50" }).click();
  await waitUntilEqual(async () => (await page.locator(".results li").count()) >= 5, true);
  assert.equal(await page.locator(".notices .card").count(), 0, "its own page shows it");
  await page.goBack();
  await page.locator(".notices").getByRole("button", { name: "Stop" }).click();
  await waitUntilEqual(running, 0);
  await waitUntilEqual(async () => /^Stopped after/.test(await text(page, ".notices .outcome")), true);
  await page.getByRole("button", { name: "Dismiss" }).click();
  await waitUntilEqual(() => page.locator(".notices .card").count(), 0);
});

testPage("users_25 leaving the explorer asks first, and ends the batch", { at: "/?id=PLsize100", service: PACED }, async (page) => {
  await fetchAll(page);
  await waitUntilEqual(running, 1);
  const [question] = await Promise.all([
    page.waitForEvent("dialog").then(async (dialog) => {
      await dialog.dismiss();
      return dialog.type();
    }),
    page.getByRole("link", { name: "API", exact: true }).click({ noWaitAfter: true }),
  ]);
  assert.equal(question, "beforeunload");
  assert.equal(await running(), 1);
  await page.close();
  await waitUntilEqual(running, 0);
});

const event = (name, value) => `event: ${name}\ndata: ${JSON.stringify({ type: name, ...value })}\n\n`;

testPage("users_25 a dropped stream keeps its results and can be continued", { at: "/?id=PLsize50" }, async (page) => {
  const whole = await fetchJson("/api/playlist/PLsize50/transcript", {});
  // The first stream ends after the results 1, 2 and 4.
  const came = [0, 1, 3].map((at) => whole.results[at]);
  await page.route("**/transcript", (route) =>
    route.fulfill({ contentType: "text/event-stream", body: came.map((it) => event("result", it)).join("") }),
  );
  await fetchAll(page);
  await waitUntilEqual(() => outcome(page), "Interrupted after 3 of 50: 3 transcripts, 0 failed");
  assert.match(await text(page, ".batch .trouble"), /^The connection to the service was lost\. /);
  assert.equal(await page.locator(".results li").count(), 3);
  await page.unroute("**/transcript");
  const [request] = await Promise.all([
    page.waitForRequest("**/transcript"),
    page.getByRole("button", { name: "Continue with the remaining 47 videos" }).click(),
  ]);
  const { from, skip } = request.postDataJSON();
  assert.deepEqual({ from, skip }, { from: 3, skip: [came[2].videoId] }, "only the rest is fetched");
  await waitUntilEqual(() => outcome(page), `Done: ${whole.succeeded} transcripts, ${whole.failed} failed`);
  assert.equal(await page.locator(".batch .trouble").count(), 0);
  const [, lines] = await saved(page, () => page.getByRole("button", { name: "Save as NDJSON" }).click());
  const results = lines.toString().trim().split("\n").map((line) => JSON.parse(line));
  assert.deepEqual(results.sort((one, other) => one.position - other.position), whole.results);
});

testPage("users_25 temporary failures are fetched again, others are not", { at: "/?id=PLsize50" }, async (page) => {
  const { results } = await fetchJson("/api/playlist/PLsize50/transcript", {});
  const failed = (at, reason) => {
    const { videoId, title, position } = results[at];
    return event("result", { videoId, title, position, status: "failed", reason, error: `No: ${videoId}` });
  };
  const body = results.map((it, at) => {
    if (at < 3) return failed(at, "blocked");
    return at === 3 ? failed(at, "captions_disabled") : event("result", it);
  });
  await page.route("**/transcript", (route) =>
    route.fulfill({ contentType: "text/event-stream", body: `${body.join("")}${event("summary", {})}` }),
  );
  await fetchAll(page);
  await waitUntilEqual(() => outcome(page), "Done: 46 transcripts, 4 failed");
  assert.deepEqual(await page.locator(".failures summary").allInnerTexts(), [
    "3 videos were not fetched: YouTube blocks this service",
    "1 video has no captions",
  ]);
  await page.unroute("**/transcript");
  await page.getByRole("button", { name: "Continue with the remaining 3 videos" }).click();
  await waitUntilEqual(() => outcome(page), "Done: 49 transcripts, 1 failed");
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
