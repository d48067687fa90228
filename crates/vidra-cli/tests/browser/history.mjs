// Back, forward and reload restore the place.
import assert from "node:assert/strict";
import { becomes, look, text } from "./support.mjs";

const place = (page) => page.evaluate(() => Math.round(scrollY));
const rows = (page) => page.locator("tbody tr").count();

look("users_25 back restores the scroll position and the number of rows", { at: "/?id=PLsize500" }, async (page) => {
  await page.getByRole("button", { name: "Show 100 more" }).click();
  await page.getByRole("button", { name: "Show 100 more" }).click();
  await becomes(() => rows(page), 300);
  const link = page.locator("tbody a").nth(250);
  await link.scrollIntoViewIfNeeded();
  const before = await place(page);
  assert.ok(before > 5_000);
  await link.click();
  await page.locator(".about h1").waitFor();
  await becomes(() => place(page), 0, "a new page starts at its top");
  await page.goBack();
  await becomes(() => rows(page), 300);
  await becomes(() => place(page), before);
  assert.equal(await page.evaluate(() => document.activeElement.id), "view");
  await page.goForward();
  await page.locator(".about h1").waitFor();
  await becomes(() => place(page), 0);
  await page.goBack();
  await becomes(() => place(page), before, "once more");
  await page.reload();
  await becomes(() => rows(page), 300);
  await becomes(() => place(page), before, "after a reload");
});

look("users_25 a user who scrolls first is left alone", { at: "/?id=PLsize500" }, async (page) => {
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
  await becomes(() => text(page, "main h1"), "Playlist PLsize500");
  await page.mouse.move(200, 300);
  await page.mouse.wheel(0, 10);
  await becomes(() => place(page), 10);
  release();
  await becomes(() => rows(page), 100);
  assert.equal(await place(page), 10);
});

look("users_27 the focus moves to the first new row when the button disappears", { at: "/?id=PLsize200" }, async (page) => {
  await page.getByRole("button", { name: "Show 100 more" }).press("Enter");
  await becomes(() => rows(page), 200);
  const expected = await page.locator("tbody a").nth(100).innerText();
  await becomes(() => page.evaluate(() => document.activeElement.textContent), expected);
});
