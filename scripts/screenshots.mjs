// Takes the screenshots of the README and the guides. scripts/screenshots passes the URL of the service and the folder.
import { createRequire } from "node:module";
import { pathToFileURL } from "node:url";

const require = createRequire(pathToFileURL(`${process.env.PEERS}/`));
const { chromium } = require("playwright-core");

const [service, folder] = process.argv.slice(2);
const PICTURES = [
  // A search in a transcript.
  {
    name: "video",
    at: "/?id=https%3A%2F%2Fyoutu.be%2F_RNzP9gya20&find=second",
    colorScheme: "light",
    height: 800,
  },
  // A playlist, most watched first, in dark colours.
  { name: "playlist", at: "/?id=UU3jzoyBw_bAPXAbKdLLxODg&sort=-views", colorScheme: "dark", height: 1060 },
];

const browser = await chromium.launch({ executablePath: process.env.CHROMIUM, args: ["--no-sandbox"] });
for (const { name, at, colorScheme, height } of PICTURES) {
  const page = await browser.newPage({ colorScheme, viewport: { width: 1180, height } });
  await page.goto(service + at);
  await page.locator("main h1").waitFor();
  await page.waitForFunction(() => !document.querySelector(".loading"));
  // Plots are drawn in the next frame.
  await page.evaluate(() => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done))));
  await page.screenshot({ path: `${folder}/${name}.png` });
}
await browser.close();
