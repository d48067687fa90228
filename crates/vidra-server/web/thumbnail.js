// Thumbnails from YouTube. A drawing is shown until the image has loaded, or if it fails to load.

import { html, nothing, svg } from './vendor/lit-html.js';

let isEnabled = false;

/** Until it is called, only drawings are shown. The demo has no thumbnails. */
export const enableThumbnails = () => {
  isEnabled = true;
};

/** A decorative image, hidden from screen readers. `seed` determines the drawing. */
export function thumbnail(url, seed, shape = 'wide') {
  return html`<span class="picture ${shape}">${drawing(seed)}${
    url && isEnabled
      ? html`<img src=${url} alt="" loading="lazy" decoding="async" referrerpolicy="no-referrer" @load=${reveal(true)} @error=${reveal(false)}>`
      : nothing
  }</span>`;
}

/** The smallest thumbnail that is wide enough, or the widest. */
export function sized(thumbnails, width) {
  const all = Object.values(thumbnails ?? {}).sort((one, other) => one.width - other.width);
  return (all.find((it) => it.width >= width) ?? all.at(-1))?.url;
}

const reveal = (isLoaded) => (event) => event.target.classList.toggle('is-loaded', isLoaded);

/** Hills under a sun. The same seed gives the same drawing. */
function drawing(seed) {
  const random = seededRandom(seed);
  const hue = Math.floor(random() * 360);
  const tone = (shift, saturation, lightness) => `hsl(${(hue + shift) % 360} ${saturation}% ${lightness}%)`;
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

/** A random number generator from 0 to 1 with a seed (mulberry32 over FNV-1a). */
function seededRandom(seed) {
  let state = 2166136261;
  for (const letter of String(seed)) state = Math.imul(state ^ letter.codePointAt(0), 16777619);
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4294967296;
  };
}
