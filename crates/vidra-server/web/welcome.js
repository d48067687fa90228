// The start page, below the search form.

import { html, nothing } from './vendor/lit-html.js';
import { linkTo } from './address.js';

/** `settings` returns the settings, which arrive after the page. */
export function welcome(settings) {
  const examples = () => settings().examples;
  return {
    title: 'vidra',
    template: () =>
      settings().isDemo
        ? html`<section class="welcome" aria-labelledby="examples-title">
      <h2 id="examples-title">This demo uses simulated data. Try:</h2>
      <ul class="examples">${examples().map(
        ({ id, what }) => html`<li>
        <a href=${linkTo(id)}><span>${what}</span><code>${id}</code></a></li>`,
      )}</ul>
    </section>`
        : nothing,
  };
}
