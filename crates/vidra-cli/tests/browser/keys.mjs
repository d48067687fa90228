// A service that requires keys.
import assert from "node:assert/strict";
import { KEY, KEYED, saved, testPage, text, waitUntilEqual } from "./support.mjs";

testPage(
  "a key is requested, used, and never shown",
  { at: "/?id=txManualAsr", service: KEYED, allowed: /401/ },
  async (page, context) => {
    await waitUntilEqual(
      () =>
        page
          .locator(".trouble strong")
          .innerText()
          .catch(() => ""),
      "This service requires a key.",
    );
    assert.equal(await text(page, "main h1"), "A key is required");
    await page.getByLabel("Key").fill("vk_schlüssel…");
    await page.getByRole("button", { name: "Use it" }).click();
    await waitUntilEqual(
      () => text(page, ".trouble .wrong"),
      "A key has only ASCII letters, digits and symbols, without spaces. Copy it again.",
    );
    assert.equal(await page.evaluate(() => sessionStorage.length), 0);
    await page.getByLabel("Key").fill("vk_wrong");
    await page.getByRole("button", { name: "Use it" }).click();
    await waitUntilEqual(
      () =>
        page
          .locator(".trouble strong")
          .innerText()
          .catch(() => ""),
      "The key is not valid.",
    );
    await page.getByLabel("Key").fill(KEY);
    await page.getByRole("button", { name: "Use it" }).click();
    await page.locator(".lines li").first().waitFor();
    const [name, bytes] = await saved(page, () => page.getByRole("link", { name: "SRT" }).click());
    assert.equal(name, "txManualAsr.en.srt");
    assert.match(bytes.toString(), /^1\r?\n/);
    await page.route("**/*format=vtt*", (route) =>
      route.fulfill({ status: 401, json: { error: { code: 401, message: "The key is not valid", details: [] } } }),
    );
    await page.getByRole("link", { name: "VTT" }).click();
    await waitUntilEqual(
      () => page.locator(".transcript .lines ~ .trouble strong").innerText(),
      "The key is not valid.",
      "beside the buttons",
    );
    for (const summary of await page.locator(".trail summary").all()) await summary.click();
    const lines = await page.locator(".curl code").allInnerTexts();
    assert.ok(
      lines.every((line) => line.includes('"Authorization: Bearer $VIDRA_KEY"')),
      lines[0],
    );
    assert.ok(!(await page.content()).includes(KEY) && !page.url().includes(KEY));
    assert.ok(!JSON.stringify(await context.storageState()).includes(KEY), "the key is not stored beyond the tab");
    await page.getByRole("button", { name: "Forget the key" }).click();
    await page.getByLabel("Key").waitFor();
    assert.equal(await page.evaluate(() => sessionStorage.length), 0);
    assert.equal(await page.locator(".lines").count(), 0);
  },
);

testPage("the API reference accepts a key", { at: "/docs", service: KEYED, allowed: /401/ }, async (page) => {
  await page.getByRole("button", { name: "Authorize" }).click();
  await page.locator("#auth-bearer-value").fill(KEY);
  await page.locator(".auth-btn-wrapper .authorize").last().click();
  await page.locator(".auth-btn-wrapper .btn-done").last().click();
  await page.locator("#operations-Service-get_quota .opblock-summary-control").click();
  await page.locator("#operations-Service-get_quota .execute").click();
  await waitUntilEqual(
    () =>
      text(page, "#operations-Service-get_quota .live-responses-table tbody .response-col_status").catch(
        () => "",
      ),
    "200",
  );
});
