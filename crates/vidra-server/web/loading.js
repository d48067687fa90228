// A part of a page that is asked for: on its way, there, or failed and to be tried again.

import { html, nothing } from './vendor/lit-html.js';
import { errorView } from './error-view.js';

/** Starts it; `page` is told of every change until it is left. */
export function load(page, start) {
  const part = later(page, start, null);
  part.again();
  return part;
}

/** The same for what is there already, and asked for anew by `again`. */
export function later(page, start, value) {
  const part = { isLoading: false, value, problem: null };
  let asked = 0;
  part.again = async () => {
    // A later question makes an earlier one's answer worthless.
    const turn = ++asked;
    Object.assign(part, { isLoading: true, problem: null });
    page.changed();
    try {
      const answer = await start();
      if (turn !== asked) return;
      part.value = answer;
    } catch (error) {
      if (page.signal.aborted || turn !== asked) return;
      part.problem = error;
    }
    part.isLoading = false;
    page.changed();
  };
  return part;
}

/** Whatever there is to show of it. */
export function shown(part, what, template) {
  if (part.isLoading && !part.value) return html`<p class="loading">Loading ${what}…</p>`;
  if (part.problem) return errorView(part.problem, part.again, what);
  return template(part.value);
}

/** The same for what a page is about, which has a heading however it went. */
export function headed(part, what, name, template) {
  return html`${part.value ? nothing : html`<h1>${name}</h1>`}${shown(part, what, template)}`;
}
