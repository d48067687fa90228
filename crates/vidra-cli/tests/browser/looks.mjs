// Colours, layout and accessibility.
import assert from "node:assert/strict";
import { faults, fetchJson, testPage, text, waitUntilEqual } from "./support.mjs";

const ground = (page) => page.evaluate(() => getComputedStyle(document.body).backgroundColor);
const DARK = "rgb(18, 21, 23)";
const LIGHT = "rgb(246, 245, 241)";

for (const at of ["/", "/docs"]) {
  testPage(
    `the colour scheme follows the system and the button: ${at}`,
    { at, colorScheme: "dark" },
    async (page) => {
      assert.equal(await ground(page), DARK);
      const button = page.getByRole("button", { name: "Dark colours" });
      assert.equal(await button.getAttribute("aria-pressed"), "true");
      await button.click();
      await waitUntilEqual(() => ground(page), LIGHT);
      await page.reload();
      await waitUntilEqual(() => ground(page), LIGHT, "remembered");
      assert.equal(await button.getAttribute("aria-pressed"), "false");
      await page.emulateMedia({ colorScheme: "light" });
      await button.click();
      await waitUntilEqual(() => ground(page), DARK);
    },
  );
}

const PAGES = ["/", "/?id=quirkHtmlCm", "/?id=PLsize50", "/?id=%40fermata", "/?id=quirkAbsent", "/docs"];
const PHONE = { width: 360, height: 740 };

for (const at of PAGES) {
  testPage(
    `the page fits a phone and axe finds no violation: ${at}`,
    { at, viewport: PHONE, colorScheme: "light", allowed: /404/ },
    async (page) => {
      await settled(page);
      if (at.includes("PLsize")) {
        await page.getByRole("button", { name: "Fetch all transcripts" }).click();
        await waitUntilEqual(async () => (await text(page, ".outcome").catch(() => "")).startsWith("Done"), true);
      }
      for (const summary of await page.locator(".trail summary").all()) await summary.click();
      const [content, width] = await page.evaluate(() => [document.documentElement.scrollWidth, innerWidth]);
      assert.equal(content, width, "no horizontal overflow");
      assert.deepEqual(await faults(page), []);
      await page.setViewportSize({ width: 1280, height: 900 });
      await page.emulateMedia({ colorScheme: "dark", reducedMotion: "reduce" });
      await waitUntilEqual(() => ground(page), DARK);
      assert.deepEqual(await faults(page), []);
    },
  );
}

testPage("all controls can be reached by keyboard", { at: "/?id=PLsize50" }, async (page) => {
  await settled(page);
  await page.keyboard.press("Tab");
  assert.equal(await page.evaluate(() => document.activeElement.textContent), "Skip to the results");
  const questions = [];
  page.on("request", (request) => request.url().includes("/api/") && questions.push(request.url()));
  await page.keyboard.press("Enter");
  assert.equal(await page.evaluate(() => document.activeElement.id), "view");
  // A change of the fragment alone sends no request either.
  await page.evaluate(() => {
    location.hash = "elsewhere";
  });
  await page.waitForTimeout(300);
  assert.deepEqual(questions, [], "no request is sent again");
  const reached = new Set();
  for (let step = 0; step < 40; step += 1) {
    await page.keyboard.press("Tab");
    reached.add(
      await page.evaluate(
        () => document.activeElement.getAttribute("aria-label") ?? document.activeElement.name ?? "",
      ),
    );
    if (reached.has("Sort by views")) break;
  }
  assert.ok(reached.has("title") && reached.has("minMinutes"), [...reached].join(", "));
  const { videos } = await fetchJson("/api/playlist/PLsize50/query", { sort: { field: "views", order: "desc" } });
  await page.keyboard.press("Enter");
  await waitUntilEqual(() => page.locator("tbody th").first().innerText(), videos[0].title);
  assert.equal(
    await page.evaluate(() => document.activeElement.getAttribute("aria-label")),
    "Sort by views",
    "focus stays",
  );
});

/** Waits until all requests of the page have finished. */
async function settled(page) {
  await page.locator("h1:visible").first().waitFor();
  await waitUntilEqual(() => page.locator(".loading").count(), 0);
}
