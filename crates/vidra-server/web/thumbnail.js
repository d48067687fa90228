// Pictures of the platform, over a drawing of our own: what is not there yet, or never comes, is not
// missed.

import { html, nothing, svg } from './vendor/lit-html.js';

let areThere = true;

/** In a made-up world there are none, and nobody is asked for them. */
export const withoutPictures = () => {
  areThere = false;
};

/** A picture that says nothing that the text beside it does not; `seed` decides what is drawn. */
export function thumbnail(url, seed, shape = 'wide') {
  return html`<span class="picture ${shape}">${drawing(seed)}${
    url && areThere
      ? html`<img src=${url} alt="" loading="lazy" decoding="async" referrerpolicy="no-referrer" @load=${reveal(true)} @error=${reveal(false)}>`
      : nothing
  }</span>`;
}

/** The smallest of a set that is wide enough. */
export function sized(thumbnails, width) {
  const all = Object.values(thumbnails ?? {}).sort((one, other) => one.width - other.width);
  return (all.find((it) => it.width >= width) ?? all.at(-1))?.url;
}

const reveal = (isThere) => (event) => event.target.classList.toggle('is-there', isThere);

/** Hills under a sun, the same each time for the same seed. */
function drawing(seed) {
  const random = numbersFrom(seed);
  const hue = Math.floor(random() * 360);
  const tone = (turn, saturation, lightness) => `hsl(${(hue + turn) % 360} ${saturation}% ${lightness}%)`;
  const hill = (top) => {
    const [a, b, c] = [0, 0, 0].map(() => (top + random() * 2.2).toFixed(1));
    return `M0 9V${a}C3 ${b} 5 ${c} 8 ${a}S13 ${b} 16 ${c}V9z`;
  };
  return svg`<svg viewBox="0 0 16 9" preserveAspectRatio="xMidYMid slice" aria-hidden="true">
    <rect width="16" height="9" fill=${tone(0, 42, 78)}></rect>
    <circle cx=${(3 + random() * 10).toFixed(1)} cy=${(2 + random() * 2).toFixed(1)} r="1.3" fill=${tone(40, 70, 90)}></circle>
    <path d=${hill(4)} fill=${tone(15, 34, 62)}></path>
    <path d=${hill(5.3)} fill=${tone(25, 36, 46)}></path>
    <path d=${hill(6.6)} fill=${tone(35, 40, 31)}></path>
  </svg>`;
}

/** Numbers from 0 to 1 that hang on the seed alone (mulberry32 over FNV-1a). */
function numbersFrom(seed) {
  let state = 2166136261;
  for (const letter of String(seed)) state = Math.imul(state ^ letter.codePointAt(0), 16777619);
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4294967296;
  };
}
