// Errors as a sentence, with what to do about them.

import { html, nothing } from './vendor/lit-html.js';
import { isKey, key } from './api.js';
import { plural } from './format.js';

/** What is shown in place of what failed. */
export function trouble(problem, again) {
  // The service's first word is for programs; what follows is for people.
  const details = (problem.details ?? []).filter((line) => !line.startsWith('reason: '));
  return html`<div class="trouble" role="alert">
    <p><strong>${problem.message}.</strong> ${whatToDo(problem)}</p>
    ${details.length ? html`<ul>${details.map((line) => html`<li>${line}</li>`)}</ul>` : nothing}
    ${problem.status === 401 ? keyForm(again) : nothing}
    ${canRepeat(problem) ? html`<button type="button" @click=${again}>Try again</button>` : nothing}
  </div>`;
}

const canRepeat = ({ status }) => [0, 429, 500, 502, 503, 504].includes(status) || status === undefined;

function whatToDo({ status, message, details = [], retryAfter }) {
  const wait = retryAfter
    ? `Wait ${plural(retryAfter, 'second')}, then try again.`
    : 'Wait a moment, then try again.';
  switch (status) {
    case 0:
      return `See whether it is running at ${location.origin} and try again.`;
    case 400:
      return 'Paste the link of a video, playlist or channel, an id or an @handle.';
    case 401:
      return 'This service is for those who have a key. Enter yours; it is kept until the tab is closed.';
    case 403:
      return 'Its owner or YouTube does not let it be shown; try another one.';
    case 404:
      return 'It may have been removed, or the link is not complete: check it and paste it again.';
    case 429:
      return wait;
    case 503:
      return details.some((line) => line.includes('API_KEY'))
        ? 'Whoever runs this service has to give it one; transcripts of single videos work without.'
        : wait;
    case 502:
    case 504:
      return 'The trouble is between this service and YouTube. Try again in a moment.';
    default:
      return `Try again; if it stays, the service's log tells more${message ? '' : ' about it'}.`;
  }
}

function keyForm(again) {
  const enter = (event) => {
    event.preventDefault();
    const value = new FormData(event.target).get('key').trim();
    if (isKey(value)) {
      key.set(value);
      again();
    } else {
      event.target.querySelector('.wrong').textContent =
        'A key has only letters, digits and signs of ASCII, and no spaces: copy it again.';
    }
  };
  return html`<form class="row" @submit=${enter}>
    <label>Key <input name="key" type="password" autocomplete="off" required></label>
    <button>Use it</button>
    <span class="wrong" role="alert"></span>
  </form>`;
}
