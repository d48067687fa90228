// Writes crates/vidra/tests/data/compact-steps.tsv: every step of
//   Intl.NumberFormat("en-US", { notation: "compact" })
// for the whole numbers from 0 to 10^15. The library's `format::compact` must return the same texts.
//
//   node scripts/compact-steps.mjs
//
// The function is monotonic: each text belongs to one range of values. So bisection finds the end of
// each range. The script then checks POINTS values inside each range for the same text. The Rust test
// formats the same values:
//   value(i) = first + floor((last - first) * i / (POINTS - 1)),  i = 0 .. POINTS - 1

import { writeFileSync } from "node:fs";
import process from "node:process";

const LIMIT = 10n ** 15n;
const POINTS = 26n;
const TARGET = new URL("../crates/vidra/tests/data/compact-steps.tsv", import.meta.url);

const format = new Intl.NumberFormat("en-US", { notation: "compact" });
// BigInt, because products of values near 10^15 leave the exact range of a JavaScript number.
const text = (value) => format.format(value);

/** The last value up to LIMIT with the same text as `first`. */
function lastOfStep(first) {
  const wanted = text(first);
  let inside = first;
  let outside = LIMIT + 1n;
  while (outside - inside > 1n) {
    const middle = (inside + outside) / 2n;
    if (text(middle) === wanted) inside = middle;
    else outside = middle;
  }
  return inside;
}

const steps = [];
let checked = 0;
for (let first = 0n; first <= LIMIT; ) {
  const last = lastOfStep(first);
  const wanted = text(first);
  for (let i = 0n; i < POINTS; i++) {
    const value = first + ((last - first) * i) / (POINTS - 1n);
    if (text(value) !== wanted) throw new Error(`${value}: ${text(value)} within ${wanted}`);
    checked += 1;
  }
  steps.push(`${first}\t${wanted}`);
  first = last + 1n;
}
if (new Set(steps.map((step) => step.split("\t")[1])).size !== steps.length) {
  throw new Error("a text occurs in two steps: bisection has skipped one between them");
}

const header = [
  `# Intl.NumberFormat("en-US", { notation: "compact" }) from 0 to ${LIMIT}: first value, text.`,
  `# Written by scripts/compact-steps.mjs with Node ${process.version}, ICU ${process.versions.icu}.`,
];
writeFileSync(TARGET, [...header, ...steps, ""].join("\n"));
console.log(`${steps.length} steps, ${checked} values checked`);
