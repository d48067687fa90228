// Restores the scroll position after back, forward and reload. The browser cannot: the content arrives later.

import { remember, remembered } from './address.js';

/** The pause in scrolling before the position is stored, in milliseconds. Browsers limit changes of the history. */
const PAUSE = 100;

let target = null;
let timer;

history.scrollRestoration = 'manual';

const store = () => remember('scroll', Math.round(scrollY));

addEventListener('scroll', () => {
  clearTimeout(timer);
  // While the page is too short, its position is not the one that the user chose.
  if (target === null) timer = setTimeout(store, PAUSE);
});
// If the user scrolls, the stored position no longer applies.
for (const name of ['wheel', 'touchmove', 'keydown', 'pointerdown']) {
  addEventListener(name, () => (target = null), { passive: true });
}

/** Call it before the page adds a history entry. */
export function storeScroll() {
  clearTimeout(timer);
  store();
  target = null;
}

/** Call it when the page shows another history entry. */
export function startRestoring() {
  clearTimeout(timer);
  target = remembered('scroll') ?? 0;
  scrollTo(0, 0);
}

/** Call it after every render. The position is reached once the page is long enough. */
export function restoreScroll() {
  if (target === null || document.documentElement.scrollHeight - innerHeight < target) return;
  scrollTo(0, target);
  target = null;
}
