// Shows an error as a sentence with advice.

import { html, nothing } from './vendor/lit-html.js';
import { isValidKey, key } from './api.js';
import { adviceFor, isTemporary } from './reasons.js';

/** Whether this is no failure: the video has no captions or no comments. */
const isEmpty = ({ reason }) => ['captions_disabled', 'comments_disabled'].includes(reason);

/** Replaces a part of the page that failed to load. `part` is the name of that part. Without `retry` it has no button. */
export function errorView(problem, retry, part = '') {
  if (isEmpty(problem)) return html`<p class="quiet none">${problem.message}.</p>`;
  const retryAndFocus = () => {
    // The button that had the focus disappears.
    document.getElementById('view').focus({ preventScroll: true });
    retry();
  };
  const details = problem.details ?? [];
  return html`<div class="trouble" role="alert">
    <p><strong>${problem.message}.</strong> ${adviceFor(problem, part)}</p>
    ${details.length ? html`<ul>${details.map((line) => html`<li>${line}</li>`)}</ul>` : nothing}
    ${problem.status === 401 ? keyForm(retryAndFocus) : nothing}
    ${retry && isTemporary(problem) ? html`<button type="button" @click=${retryAndFocus}>Try again</button>` : nothing}
  </div>`;
}

function keyForm(onEnter) {
  const enter = (event) => {
    event.preventDefault();
    const value = new FormData(event.target).get('key').trim();
    if (isValidKey(value)) {
      key.set(value);
      onEnter();
    } else {
      event.target.querySelector('.wrong').textContent =
        'A key has only ASCII letters, digits and symbols, without spaces. Copy it again.';
    }
  };
  return html`<form class="row" @submit=${enter}>
    <label>Key <input name="key" type="password" autocomplete="off" required></label>
    <button>Use it</button>
    <span class="wrong" role="alert"></span>
  </form>`;
}
