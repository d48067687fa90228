// A part of a page with its own request: loading, loaded, or failed with a retry button.

import { html, nothing } from './vendor/lit-html.js';
import { errorView } from './error-view.js';
import { headingFor } from './reasons.js';

/** Starts a request. `page.changed` is called for every change. */
export function load(page, start) {
  const part = reloadable(page, start, null);
  part.reload();
  return part;
}

/** A part that has a value already. `reload` requests a new one. */
export function reloadable(page, start, value) {
  const part = { isLoading: false, value, problem: null };
  let latest = 0;
  part.reload = async () => {
    // Only the response of the latest request counts.
    const current = ++latest;
    Object.assign(part, { isLoading: true, problem: null });
    page.changed();
    try {
      const answer = await start();
      if (current !== latest) return;
      part.value = answer;
    } catch (error) {
      if (page.signal.aborted || current !== latest) return;
      part.problem = error;
    }
    part.isLoading = false;
    page.changed();
  };
  return part;
}

/** The placeholder, the error or the content of a part. `name` is its name in messages. */
export function partView(part, name, template, placeholder = nothing) {
  if (part.isLoading && !part.value) return html`<p class="loading">Loading ${name}…</p>${placeholder}`;
  if (part.problem) return errorView(part.problem, part.reload, name);
  return template(part.value);
}

/** The main part of a page. `heading` is its heading until the part has loaded. */
export function partViewWithHeading(part, name, heading, template, placeholder) {
  return html`${part.value ? nothing : html`<h1>${part.problem ? headingFor(part.problem) : heading}</h1>`}${partView(part, name, template, placeholder)}`;
}

/** Grey placeholder boxes, so that the rest of the page does not move when the content arrives. */
export const boxes = (...names) =>
  html`<div class="boxes" aria-hidden="true">${names.map((name) => html`<div class="box ${name}"></div>`)}</div>`;
