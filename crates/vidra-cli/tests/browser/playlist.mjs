// A playlist: its table uses the query of the service.
import assert from "node:assert/strict";
import { fetchJson, testPage, text, waitUntilEqual } from "./support.mjs";

const titles = (page) => page.locator("tbody th").allInnerTexts();
const status = (page) => text(page, ".videos [role=status]");
const sortOf = (page, name) => page.locator("thead th", { hasText: name }).getAttribute("aria-sort");

testPage("a playlist is sorted and filtered by the service", { at: "/?id=PLsize500" }, async (page) => {
  const query = (body) =>
    fetchJson("/api/playlist/PLsize500/query", body).then(({ videos }) => videos.map(({ title }) => title));
  await waitUntilEqual(() => page.locator("tbody tr").count(), 100);
  await waitUntilEqual(() => status(page), "500 of 500 videos, 12 d 7 h");
  await page.getByRole("button", { name: "Show 100 more" }).click();
  await waitUntilEqual(() => page.locator("tbody tr").count(), 200);

  await page.getByRole("button", { name: "Sort by views" }).click();
  const most = await query({ sort: { field: "views", order: "desc" } });
  await waitUntilEqual(() => titles(page), most.slice(0, 100));
  assert.deepEqual([await sortOf(page, "Views"), await sortOf(page, "#")], ["descending", "none"]);
  await page.getByRole("button", { name: "Sort by views" }).click();
  await waitUntilEqual(() => titles(page), (await query({ sort: { field: "views", order: "asc" } })).slice(0, 100));
  assert.equal(await sortOf(page, "Views"), "ascending");

  await page.getByLabel("Minutes, at least").fill("20.5");
  await page.getByLabel("Likes, at least").fill("1000");
  const body = {
    filter: { duration: { min: 1230 }, likes: { min: 1000 } },
    sort: { field: "views", order: "asc" },
  };
  const matching = await query(body);
  assert.ok(matching.length > 3 && matching.length < 100);
  await waitUntilEqual(() => titles(page), matching);
  const word = matching[0].split(" ")[0];
  await page.getByLabel("Title contains").fill(word.toUpperCase());
  const named = matching.filter((title) => title.toLowerCase().includes(word.toLowerCase()));
  await waitUntilEqual(() => titles(page), named);
  assert.match(await status(page), new RegExp(`^${named.length} of 500 videos, `));

  await page.reload();
  await waitUntilEqual(() => titles(page), named, "the URL stores the filter");
  assert.equal(await page.getByLabel("Minutes, at least").inputValue(), "20.5");
  await page.getByRole("button", { name: "Sort by position" }).click();
  await waitUntilEqual(() => sortOf(page, "#"), "ascending");
});

testPage(
  "contradictory bounds show an error",
  { at: "/?id=PLsize50&minMinutes=5&maxMinutes=1", allowed: /400/ },
  async (page) => {
    await waitUntilEqual(async () => /duration/.test(await text(page, ".videos .trouble")), true);
    await page.getByLabel("Minutes, at most").fill("50");
    await waitUntilEqual(() => page.locator(".videos .trouble").count(), 0);
  },
);

testPage(
  "plots are drawn, have text alternatives, and show the value under the pointer",
  { at: "/?id=PLsize500" },
  async (page) => {
    await waitUntilEqual(() => page.locator(".plot canvas").count(), 4);
    const labels = await page
      .locator(".plot [role=img]")
      .evaluateAll((all) => all.map((it) => it.getAttribute("aria-label")));
    assert.deepEqual(labels, [
      "Length by position: from 0:12 to 8:32:22",
      "Views by position: from 1.4K to 35M",
      "Distribution of lengths: half are shorter than 12:25",
      "Upload dates: from 2026-01-12 to 2026-05-20",
    ]);
    for (const canvas of await page.locator(".plot canvas").all()) {
      const inks = await canvas.evaluate((it) => {
        const { data } = it.getContext("2d").getImageData(0, 0, it.width, it.height);
        return new Set(new Uint32Array(data.buffer)).size;
      });
      assert.ok(inks > 5, "something is drawn");
    }
    await page.locator(".plot .u-over").last().hover();
    await waitUntilEqual(() => text(page, ".plot:last-child .under"), "2026-03: 120 videos");
  },
);

testPage("an empty playlist shows a notice", { at: "/?id=PLquirkEmpty" }, async (page) => {
  await waitUntilEqual(() => text(page, ".playlist > .notice"), "This playlist has no available videos.");
});

testPage("unavailable entries are counted", { at: "/?id=PLquirkUnavailable" }, async (page) => {
  await waitUntilEqual(
    () =>
      page
        .locator(".headline")
        .innerText()
        .then((it) => it.includes("10 more are private or deleted.")),
    true,
  );
});

testPage("a duplicate video has both its positions", { at: "/?id=PLquirkDuplicates" }, async (page) => {
  const positions = async () => (await page.locator("tbody td:first-child").allInnerTexts()).map(Number);
  const all = Array.from({ length: 60 }, (_, at) => at + 1);
  await waitUntilEqual(positions, all);
  await page.getByRole("button", { name: "Sort by views" }).click();
  await waitUntilEqual(() => sortOf(page, "Views"), "descending");
  await waitUntilEqual(async () => (await positions()).join() !== all.join(), true);
  assert.deepEqual(
    (await positions()).sort((one, other) => one - other),
    all,
  );
});

testPage("leaving the page cancels a pending query", { at: "/?id=PLsize50" }, async (page) => {
  await page.locator("tbody tr").first().waitFor();
  await page.getByLabel("Views, at least").fill("10");
  await page.getByRole("link", { name: "vidra, start page" }).click();
  await page.locator(".examples a").first().waitFor();
  await page.waitForTimeout(400);
  assert.equal(await page.locator(".trail").count(), 0);
});

testPage("users_27 the table is sorted by title and by date", { at: "/?id=PLsize200" }, async (page) => {
  const { videos } = await fetchJson("/api/playlist/PLsize200");
  const order = (compare) => videos.toSorted(compare).map(({ title }) => title).slice(0, 100);
  const byTitle = new Intl.Collator("en", { numeric: true, sensitivity: "base" });
  const up = (one, other) => byTitle.compare(one.title, other.title);
  const old = (one, other) => Date.parse(one.publishedAt) - Date.parse(other.publishedAt);
  const requests = [];
  page.on("request", (request) => request.url().endsWith("/query") && requests.push(request.url()));
  for (const [button, name, sort, compare] of [
    ["Sort by title", "Title", "ascending", up],
    ["Sort by title", "Title", "descending", (one, other) => up(other, one)],
    ["Sort by published", "Published", "descending", (one, other) => old(other, one)],
    ["Sort by published", "Published", "ascending", old],
  ]) {
    await page.getByRole("button", { name: button }).click();
    await waitUntilEqual(() => titles(page), order(compare), sort);
    assert.equal(await sortOf(page, name), sort);
  }
  assert.deepEqual(requests, [], "the page has all that it needs");
  await page.reload();
  await waitUntilEqual(() => titles(page), order(old), "the URL stores the order");
  await page.getByRole("button", { name: "Sort by published" }).click();
  await waitUntilEqual(() => titles(page), videos.slice(0, 100).map(({ title }) => title));
});
