// Search in a transcript, and its use by keyboard and on paper.
import assert from "node:assert/strict";
import { fetchJson, testPage, text, waitUntilEqual } from "./support.mjs";

const ID = "fda4eREcaTQ";

/** Shows these lines as the transcript of `ID`. */
const saying = (...texts) => ({
  at: `/?id=${ID}`,
  prepare: (page) =>
    page.route(`**/api/transcript/${ID}*`, (route) =>
      route.fulfill({ json: texts.map((text, at) => ({ text, offset: at * 4, duration: 4, lang: "en" })) }),
    ),
});

const find = (page, phrase) => page.getByLabel("Search in the transcript").fill(phrase);
const count = (page) => text(page, ".transcript .count");
const marks = (page, selector = ".lines mark") => page.locator(selector).allInnerTexts();

testPage("users_24 the transcript can be searched and links to its timestamps", { at: "/?id=_RNzP9gya20" }, async (page) => {
  const lines = await fetchJson("/api/transcript/_RNzP9gya20");
  await waitUntilEqual(() => count(page), `${lines.length} lines`);
  await find(page, "SECOND run");
  const found = lines.filter((line) => line.text.toLowerCase().includes("second run"));
  assert.ok(found.length > 1 && found.length < lines.length / 2);
  await waitUntilEqual(() => count(page), `1 of ${found.length} matches`);
  assert.equal(await page.locator(".lines li").count(), lines.length, "the lines around a match are shown");
  assert.deepEqual(await marks(page), found.map(() => "second run"));
  const moment = await page.locator(".lines li", { has: page.locator("mark") }).first().locator("a").getAttribute("href");
  assert.equal(moment, `https://www.youtube.com/watch?v=_RNzP9gya20&t=${Math.floor(found[0].offset)}s`);
  await page.reload();
  await waitUntilEqual(() => count(page), `1 of ${found.length} matches`, "the URL stores the search");
  await find(page, "a+(b");
  await waitUntilEqual(() => count(page), "No matches");
});

testPage("users_24 next and previous move to the matches", { at: "/?id=_RNzP9gya20&find=second" }, async (page) => {
  await waitUntilEqual(() => count(page), "1 of 14 matches");
  const visible = () =>
    page.locator(".lines mark.current").evaluate((mark) => {
      const [inner, outer] = [mark.getBoundingClientRect(), mark.closest(".lines").getBoundingClientRect()];
      return inner.top >= outer.top && inner.bottom <= outer.bottom;
    });
  const before = await page.evaluate(() => scrollY);
  for (const [press, expected] of [
    [() => page.getByRole("button", { name: "Next match" }).click(), "2 of 14 matches"],
    [() => page.getByRole("button", { name: "Previous match" }).click(), "1 of 14 matches"],
    [() => page.getByRole("button", { name: "Previous match" }).click(), "14 of 14 matches"],
    [() => page.getByLabel("Search in the transcript").press("Enter"), "1 of 14 matches"],
    [() => page.getByLabel("Search in the transcript").press("Shift+Enter"), "14 of 14 matches"],
  ]) {
    await press();
    await waitUntilEqual(() => count(page), expected);
    await waitUntilEqual(visible, true);
    assert.equal(await page.locator("mark.current").count(), 1);
  }
  assert.equal(await page.evaluate(() => scrollY), before, "the page does not scroll");
});

testPage(
  "users_24 a phrase across two cues matches, whatever its white space, case and accents",
  saying("So we\nwent to the", "  CAFÉ\u00a0in", "Cafe\u0301 Müller’s", "日本", "語です", "we went to the café"),
  async (page) => {
    await waitUntilEqual(() => count(page), "6 lines");
    for (const [phrase, expected, parts] of [
      ["we went  to", "1 of 2 matches", ["we\nwent to", "we went to"]],
      ["went to the cafe", "1 of 2 matches", ["went to the", "CAFÉ", "went to the café"]],
      ["in cafe muller's", "1 match", ["in", "Cafe\u0301 Müller’s"]],
      ["日本語", "1 match", ["日本", "語"]],
      ["the café in Café M", "1 match", ["the", "CAFÉ\u00a0in", "Cafe\u0301 M"]],
      ["cafe", "1 of 3 matches", ["CAFÉ", "Cafe\u0301", "café"]],
      ["wentto", "No matches", []],
      ["  ", "6 lines", []],
    ]) {
      await find(page, phrase);
      await waitUntilEqual(() => count(page), expected, phrase);
      const plain = (all) => all.map((it) => it.replace(/\s+/g, " "));
      // The phrase before may have as many matches.
      const marked = async () => plain(await page.locator(".lines mark").allTextContents());
      await waitUntilEqual(marked, plain(parts), phrase);
    }
    await find(page, "went to the cafe");
    await waitUntilEqual(() => marks(page, "mark.current"), ["went to the", "CAFÉ"], "every cue of the match is marked");
  },
);

testPage("users_27 a transcript is one tab stop, with arrow keys inside", { at: "/?id=_RNzP9gya20" }, async (page) => {
  await page.locator(".lines li").first().waitFor();
  const line = () =>
    page.evaluate(() => [...document.querySelectorAll(".lines li")].indexOf(document.activeElement.closest("li")));
  await page.getByLabel("Search in the transcript").focus();
  await page.keyboard.press("Tab");
  assert.equal(await line(), 0);
  for (const [key, expected] of [
    ["ArrowDown", 1],
    ["ArrowDown", 2],
    ["ArrowUp", 1],
    ["PageDown", 11],
    ["End", 312],
    ["ArrowDown", 312],
    ["Home", 0],
  ]) {
    await page.keyboard.press(key);
    await waitUntilEqual(line, expected, key);
  }
  await page.keyboard.press("ArrowDown");
  await waitUntilEqual(line, 1, "ArrowDown");
  // The page draws the list a moment after the focus has moved.
  const stops = () =>
    page.evaluate(() =>
      [...document.querySelectorAll('.lines [tabindex="0"]')].map((it) => it === document.activeElement),
    );
  await waitUntilEqual(stops, [true], "only the current line is a tab stop");
  await page.keyboard.press("Tab");
  assert.equal(await page.evaluate(() => document.activeElement.textContent), "SRT", "the next stop is after the list");
  await page.keyboard.press("Shift+Tab");
  assert.equal(await line(), 1, "back to the same line");
});

testPage("users_27 print has the whole transcript on white", { at: "/?id=_RNzP9gya20", colorScheme: "dark" }, async (page) => {
  await page.locator(".lines li").first().waitFor();
  await page.emulateMedia({ media: "print" });
  const [shown, whole] = await page.locator(".lines").evaluate((it) => [it.clientHeight, it.scrollHeight]);
  assert.ok(shown >= whole && whole > 5_000, `${shown} of ${whole}`);
  assert.equal(await page.evaluate(() => getComputedStyle(document.body).color), "rgb(29, 32, 35)");
  for (const hidden of [".top", ".foot", ".trail", ".find"]) assert.ok(!(await page.locator(hidden).isVisible()), hidden);
});

testPage("users_27 the focus moves to the list of languages", { at: "/?id=txManyLang_" }, async (page) => {
  await page.getByRole("button", { name: "Other languages" }).press("Enter");
  await waitUntilEqual(() => page.evaluate(() => document.activeElement.tagName), "SELECT");
});
