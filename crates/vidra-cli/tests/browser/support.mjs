// A browser, and pages in it that tell what they may not do.
import assert from "node:assert/strict";
import { createRequire } from "node:module";
import { after, test } from "node:test";
import { pathToFileURL } from "node:url";

export const require = createRequire(pathToFileURL(`${process.env.PEERS}/`));
const { chromium } = require("playwright-core");

/** Services over the demo world: as it is; slow to give transcripts; for those who have a key. */
export const { DEMO, PACED, KEYED, KEY } = process.env;

// Debian's sandbox needs what containers seldom grant; nothing but our own pages is looked at.
const browser = await chromium.launch({
  executablePath: process.env.CHROMIUM,
  args: ["--no-sandbox"],
});
after(() => browser.close());

/**
 * A test with a page of its own, opened at `at`. It fails where the page throws, complains in the console,
 * breaks its policy, or asks anybody but its service; `allowed` is what it may complain about,
 * `played` whom it may ask besides because the test plays them, and `prepare` may change its world before
 * it is opened.
 */
export function look(
  name,
  { at, service = DEMO, allowed = null, played = /^$/, prepare, timeout = 60_000, ...options },
  check,
) {
  test(name, { timeout }, async () => {
    const context = await browser.newContext({ acceptDownloads: true, ...options });
    context.setDefaultTimeout(15_000);
    try {
      const page = await context.newPage();
      const complaints = [];
      page.on("pageerror", (error) => complaints.push(`threw ${error.message}`));
      page.on("console", (message) => {
        const isBad = ["error", "warning"].includes(message.type());
        if (isBad && !allowed?.test(message.text())) complaints.push(message.text());
      });
      // Only heard, not held up: a page whose requests are held up has no cache.
      page.on("request", (request) => {
        const { origin, protocol } = new URL(request.url());
        if (origin !== service && protocol !== "blob:" && !played.test(origin))
          complaints.push(`asked for ${request.url()}`);
      });
      await prepare?.(page);
      if (at) await page.goto(service + at);
      await check(page, context);
      assert.deepEqual(complaints, []);
    } finally {
      await context.close();
    }
  });
}

/** Waits until `read` gives what is expected; says what it gave last where it never does. */
export async function becomes(read, expected, what = "") {
  const end = Date.now() + 15_000;
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

/** What the service itself answers. */
export async function asked(path, body) {
  const headers = { "content-type": "application/json" };
  const answer = await fetch(
    DEMO + path,
    body ? { method: "POST", headers, body: JSON.stringify(body) } : {},
  );
  assert.equal(answer.status, 200, path);
  return answer.json();
}

/** What a click saves: the name of the file and its bytes. */
export async function saved(page, click) {
  const [download] = await Promise.all([page.waitForEvent("download"), click()]);
  const chunks = [];
  for await (const chunk of await download.createReadStream()) chunks.push(chunk);
  return [download.suggestedFilename(), Buffer.concat(chunks)];
}
