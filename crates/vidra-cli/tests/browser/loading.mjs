// How a page loads: what moves, and how many round trips it takes.
import assert from "node:assert/strict";
import { testPage, text, waitUntilEqual } from "./support.mjs";

const DESKTOP = { width: 1280, height: 900 };
const PHONE = { width: 360, height: 740 };
const PAGES = ["/", "/?id=_RNzP9gya20", "/?id=PLsize200", "/?id=%40fermata", "/?id=txNoCaption", "/docs"];

/** Sums the layout shifts that no user caused. */
const observeShifts = (page) =>
  page.addInitScript(() => {
    window.shifts = [];
    new PerformanceObserver((list) => {
      for (const { value, sources } of list.getEntries()) {
        window.shifts.push({ value, what: sources.map(({ node }) => node?.className || node?.nodeName).join(", ") });
      }
    }).observe({ type: "layout-shift", buffered: true });
  });

for (const [name, viewport] of Object.entries({ DESKTOP, PHONE })) {
  for (const at of PAGES) {
    testPage(
      `users_27 nothing moves while the page loads: ${at} ${name}`,
      {
        at,
        viewport,
        allowed: /404/,
        prepare: async (page) => {
          await observeShifts(page);
          // Every answer comes a little later than the one before, so that each part arrives on its own.
          let delay = 0;
          await page.route("**/api/**", async (route) => {
            delay += 150;
            await new Promise((resolve) => setTimeout(resolve, delay));
            await route.continue();
          });
        },
      },
      async (page) => {
        await page.locator(at === "/docs" ? ".opblock" : "h1:visible").first().waitFor();
        await waitUntilEqual(() => page.locator(".loading").count(), 0);
        await page.waitForTimeout(300);
        const shifts = await page.evaluate(() => window.shifts);
        const sum = shifts.reduce((total, { value }) => total + value, 0);
        assert.ok(sum < 0.02, `${sum}: ${JSON.stringify(shifts)}`);
      },
    );
  }
}

/**
 * Loads a page over a simulated network with rounds: it answers all pending requests together, and their follow-up
 * requests in the next round. Returns the number of rounds until `isDone`.
 */
async function rounds(page, at, isDone) {
  let waiting = [];
  await page.route("**/*", (route) => waiting.push(route));
  const opened = page.goto(at, { waitUntil: "commit" });
  for (let round = 0; round < 12; round += 1) {
    if (round > 0 && (await isDone())) return round;
    await waitUntilEqual(() => waiting.length > 0, true);
    // No further request follows without an answer.
    for (let count = -1; count < waiting.length; ) {
      count = waiting.length;
      await new Promise((resolve) => setTimeout(resolve, 300));
    }
    const answered = waiting;
    waiting = [];
    const responses = answered.map((route) => route.request().response());
    await Promise.all(answered.map((route) => route.continue()));
    if (round === 0) await opened;
    await Promise.all(responses.map(async (response) => (await response)?.finished()));
    await page.waitForTimeout(300);
  }
  throw new Error("it never appears");
}

for (const [at, selector, expected] of [
  ["/?id=_RNzP9gya20", ".about article", 3],
  ["/?id=_RNzP9gya20", ".lines li", 3],
  ["/?id=PLsize50", "tbody tr", 3],
  ["/?id=%40fermata", ".tile", 3],
  // The service parses the link first.
  ["/?id=https%3A%2F%2Fyoutu.be%2F_RNzP9gya20", ".lines li", 4],
]) {
  testPage(`users_27 the data of a page takes ${expected} round trips: ${at} ${selector}`, {}, async (page) => {
    const service = process.env.DEMO;
    const isShown = async () => (await page.locator(selector).count()) > 0;
    assert.equal(await rounds(page, service + at, isShown), expected);
  });
}

testPage("users_27 the first paint needs no module", {}, async (page) => {
  const isPainted = () =>
    page.evaluate(() => performance.getEntriesByType("paint").some(({ name }) => name === "first-contentful-paint"));
  await page.route(/\/web\/(?!theme).*\.js/, () => {});
  await page.goto(`${process.env.DEMO}/?id=PLsize50`, { waitUntil: "commit" });
  await waitUntilEqual(isPainted, true);
  assert.ok(await page.locator(".placeholder").isVisible());
});

testPage(
  "users_27 comments follow the video, beside a long transcript",
  {
    at: "/?id=_RNzP9gya20",
    viewport: DESKTOP,
    // Without comments the transcript is higher than the rest.
    prepare: (page) => page.route("**/api/comments/**", (route) => route.fulfill({ json: [] })),
  },
  async (page) => {
    await page.locator(".lines li").first().waitFor();
    await waitUntilEqual(async () => /There are no comments/.test(await text(page, ".comments")), true);
    const box = (selector) => page.locator(selector).first().boundingBox();
    const [about, comments] = [await box(".about"), await box(".comments")];
    assert.equal(Math.round(comments.y - (about.y + about.height)), 24);
  },
);

for (const at of ["/?id=PLsize50", "/docs"]) {
  testPage(`users_27 the header is aligned with the content: ${at}`, { at, viewport: { width: 1500, height: 900 } }, async (page) => {
    const left = (selector) => page.locator(selector).first().boundingBox().then(({ x }) => Math.round(x));
    const content = at === "/docs" ? ".opblock" : ".headline";
    await page.locator(content).first().waitFor();
    assert.equal(await left(content), await left(".brand"));
    assert.equal(await left(".foot p"), await left(".brand"));
  });
}

testPage("users_27 the header of the table stays in view", { at: "/?id=PLsize200", viewport: DESKTOP }, async (page) => {
  await page.locator("tbody tr").nth(80).scrollIntoViewIfNeeded();
  const header = await page.locator("thead th").first().boundingBox();
  const bar = await page.locator(".top").boundingBox();
  assert.equal(Math.round(header.y), Math.round(bar.y + bar.height));
  assert.match(await text(page, "thead"), /Title/);
});
