// The page before anything was asked for.

import { html, nothing } from './vendor/lit-html.js';
import { linkTo } from './address.js';

export function welcome({ isDemo, examples }) {
  return {
    title: 'vidra',
    template: () => html`<section class="welcome">
      <h1>Paste a link. See what is behind it.</h1>
      <p class="lead">A video with its transcript and comments, a playlist with every number in it, a channel with
        what it published last: from any link, id or @handle.</p>
      ${isDemo ? html`<h2>This world is made up. Try:</h2>
        <ul class="examples">${examples.map(({ id, what }) => html`<li>
          <a href=${linkTo(id)}><span>${what}</span><code>${id}</code></a></li>`)}</ul>` : nothing}
    </section>`,
  };
}
