// Test helpers: a browser, and pages whose errors fail the test.
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { after, test } from "node:test";
import { pathToFileURL } from "node:url";

export const require = createRequire(pathToFileURL(`${process.env.PEERS}/`));
const { chromium } = require("playwright-core");

/** Services with demo data: the default, one with a slow pace, and one that requires a key. */
export const { DEMO, PACED, KEYED, KEY } = process.env;

// Debian's sandbox needs privileges that containers seldom have. The tests open only pages of the service.
const browser = await chromium.launch({
  executablePath: process.env.CHROMIUM,
  args: ["--no-sandbox"],
});
after(() => browser.close());

/**
 * A test with its own page, opened at `at`. It fails if the page throws, logs an error or a warning, violates
 * its policy, or sends a request to another origin than its service. `allowed` matches permitted log messages,
 * `simulated` matches origins that the test simulates, and `prepare` sets up the page before it is opened.
 */
export function testPage(
  name,
  { at, service = DEMO, allowed = null, simulated = /^$/, prepare, timeout = 180_000, ...options },
  check,
) {
  test(name, { timeout }, async () => {
    const context = await browser.newContext({ acceptDownloads: true, ...options });
    context.setDefaultTimeout(45_000);
    try {
      const page = await context.newPage();
      const problems = [];
      page.on("pageerror", (error) => problems.push(`threw ${error.message}`));
      page.on("console", (message) => {
        const isBad = ["error", "warning"].includes(message.type());
        if (isBad && !allowed?.test(message.text())) problems.push(message.text());
      });
      // Observed, not intercepted: interception disables the cache of a page.
      page.on("request", (request) => {
        const { origin, protocol } = new URL(request.url());
        if (origin !== service && protocol !== "blob:" && !simulated.test(origin))
          problems.push(`requested ${request.url()}`);
      });
      await prepare?.(page);
      if (at) await page.goto(service + at);
      await check(page, context);
      assert.deepEqual(problems, []);
    } finally {
      await context.close();
    }
  });
}

/** Waits until `read` returns the expected value; fails with the last value. */
export async function waitUntilEqual(read, expected, what = "") {
  const end = Date.now() + 45_000;
  for (;;) {
    const got = await read();
    try {
      return assert.deepEqual(got, expected, what);
    } catch (error) {
      if (Date.now() > end) throw error;
    }
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
}

export const text = async (page, selector) => (await page.textContent(selector)).replace(/\s+/g, " ").trim();

/** The JSON of an answer of the service: to a GET request, or to a POST request if there is a body. */
export async function fetchJson(path, body) {
  const headers = { "content-type": "application/json" };
  const answer = await fetch(
    DEMO + path,
    body ? { method: "POST", headers, body: JSON.stringify(body) } : {},
  );
  assert.equal(answer.status, 200, path);
  return answer.json();
}

/** The name and the bytes of the file that a click saves. */
export async function saved(page, click) {
  const [download] = await Promise.all([page.waitForEvent("download"), click()]);
  const chunks = [];
  for await (const chunk of await download.createReadStream()) chunks.push(chunk);
  return [download.suggestedFilename(), Buffer.concat(chunks)];
}

const axe = readFileSync(require.resolve("axe-core/axe.min.js"), "utf-8");

/** The violations that axe finds on a page. */
export async function faults(page) {
  if (!(await page.evaluate(() => "axe" in window))) await page.evaluate(axe);
  const { violations, passes } = await page.evaluate(() => window.axe.run());
  assert.ok(passes.length > 10);
  return violations.map(
    ({ id, impact, nodes }) =>
      `${impact} ${id}: ${nodes
        .slice(0, 3)
        .map(({ html }) => html.slice(0, 120))
        .join(" | ")}`,
  );
}
