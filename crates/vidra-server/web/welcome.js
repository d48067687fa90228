// What is below the search before anything was asked for.

import { html, nothing } from './vendor/lit-html.js';
import { linkTo } from './address.js';

export function welcome({ isDemo, examples }) {
  return {
    title: 'vidra',
    template: () =>
      isDemo
        ? html`<section class="welcome" aria-labelledby="examples-title">
      <h2 id="examples-title">This world is made up. Try:</h2>
      <ul class="examples">${examples.map(
        ({ id, what }) => html`<li>
        <a href=${linkTo(id)}><span>${what}</span><code>${id}</code></a></li>`,
      )}</ul>
    </section>`
        : nothing,
  };
}
