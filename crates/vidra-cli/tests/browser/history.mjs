// Back, forward and reload restore the scroll position.
import assert from "node:assert/strict";
import { testPage, text, waitUntilEqual } from "./support.mjs";

const scrollPosition = (page) => page.evaluate(() => Math.round(scrollY));
const rows = (page) => page.locator("tbody tr").count();

testPage("users_25 back restores the scroll position and the number of rows", { at: "/?id=PLsize500" }, async (page) => {
  await page.getByRole("button", { name: "Show 100 more" }).click();
  await page.getByRole("button", { name: "Show 100 more" }).click();
  await waitUntilEqual(() => rows(page), 300);
  const link = page.locator("tbody a").nth(250);
  await link.scrollIntoViewIfNeeded();
  const before = await scrollPosition(page);
  assert.ok(before > 5_000);
  await link.click();
  await page.locator(".about h1").waitFor();
  await waitUntilEqual(() => scrollPosition(page), 0, "a new page starts at its top");
  await page.goBack();
  await waitUntilEqual(() => rows(page), 300);
  await waitUntilEqual(() => scrollPosition(page), before);
  assert.equal(await page.evaluate(() => document.activeElement.id), "view");
  await page.goForward();
  await page.locator(".about h1").waitFor();
  await waitUntilEqual(() => scrollPosition(page), 0);
  await page.goBack();
  await waitUntilEqual(() => scrollPosition(page), before, "once more");
  await page.reload();
  await waitUntilEqual(() => rows(page), 300);
  await waitUntilEqual(() => scrollPosition(page), before, "after a reload");
});

testPage("users_25 a user who scrolls first is left alone", { at: "/?id=PLsize500" }, async (page) => {
  await page.locator("tbody a").nth(90).scrollIntoViewIfNeeded();
  await page.locator("tbody a").nth(90).click();
  await page.locator(".about h1").waitFor();
  let release;
  const held = new Promise((resolve) => {
    release = resolve;
  });
  await page.route("**/api/playlist/PLsize500", async (route) => {
    await held;
    await route.continue();
  });
  await page.goBack();
  await waitUntilEqual(() => text(page, "main h1"), "Playlist PLsize500");
  await page.mouse.move(200, 300);
  await page.mouse.wheel(0, 10);
  await waitUntilEqual(() => scrollPosition(page), 10);
  release();
  await waitUntilEqual(() => rows(page), 100);
  assert.equal(await scrollPosition(page), 10);
});

testPage("users_27 the focus moves to the first new row when the button disappears", { at: "/?id=PLsize200" }, async (page) => {
  await page.getByRole("button", { name: "Show 100 more" }).press("Enter");
  await waitUntilEqual(() => rows(page), 200);
  const expected = await page.locator("tbody a").nth(100).innerText();
  await waitUntilEqual(() => page.evaluate(() => document.activeElement.textContent), expected);
});
