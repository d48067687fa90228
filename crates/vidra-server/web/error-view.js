// Shows an error as a sentence, with what to do about it.

import { html, nothing } from './vendor/lit-html.js';
import { isKey, key } from './api.js';
import { span } from './format.js';

/** Nothing failed: the video has no captions or no comments. */
const isNothing = ({ reason }) => ['captions_disabled', 'comments_disabled'].includes(reason);

/** What is shown in place of what failed; `part` is what was asked for. */
export function errorView(problem, repeat, part = '') {
  if (isNothing(problem)) return html`<p class="quiet none">${problem.message}.</p>`;
  const again = () => {
    // What was pressed goes; the focus has to be somewhere.
    document.getElementById('view').focus({ preventScroll: true });
    repeat();
  };
  const details = problem.details ?? [];
  return html`<div class="trouble" role="alert">
    <p><strong>${problem.message}.</strong> ${whatToDo(problem, part)}</p>
    ${details.length ? html`<ul>${details.map((line) => html`<li>${line}</li>`)}</ul>` : nothing}
    ${problem.status === 401 ? keyForm(again) : nothing}
    ${canRepeat(problem) ? html`<button type="button" @click=${again}>Try again</button>` : nothing}
  </div>`;
}

const canRepeat = ({ status }) => [0, 429, 500, 502, 503, 504].includes(status) || status === undefined;

const OPERATOR = 'The operator of this service can help.';
const YOUTUBE = 'The problem is on the side of YouTube. Try again in a moment.';

/** What to do, by the service's word for why. */
const BY_REASON = {
  video_private: 'Only its owner and invited people can see it.',
  age_restricted: 'YouTube shows it only to signed-in adults. This service does not sign in.',
  region_blocked: 'Only a service in another country can get it.',
  members_only: 'Only paying members of its channel can see it.',
  not_started: 'Come back when it has begun.',
  unplayable: 'YouTube plays it only to people who are signed in.',
  language_unavailable: 'Choose another language.',
  upstream_key_missing: 'The operator of this service has to configure one. Transcripts of single videos work without.',
  upstream_key_rejected: OPERATOR,
  po_token_required: OPERATOR,
  no_po_token: OPERATOR,
  blocked: OPERATOR,
  unreachable: 'The service has no connection to YouTube. Try again in a moment, or tell its operator.',
  upstream_failed: YOUTUBE,
  timed_out: YOUTUBE,
  platform_changed: 'A newer release of vidra may be able to read it: tell the operator of this service.',
};

/** What to check where a question was refused, by what was asked for. */
const REFUSED = {
  'the transcript': 'Choose another language.',
  transcripts: 'Check the language: it is a code such as en or pt-BR.',
  videos: 'Change what the videos are filtered by.',
};

function whatToDo(problem, part) {
  const { status, reason, retryAfter } = problem;
  const wait = retryAfter ? `Wait ${span(retryAfter)}, then try again.` : 'Wait a moment, then try again.';
  const known = BY_REASON[reason];
  if (known) return known;
  switch (status) {
    case 0:
      return `See whether it is running at ${location.origin} and try again.`;
    case 400:
      return REFUSED[part] ?? 'Paste the link of a video, playlist or channel, an id or an @handle.';
    case 401:
      return 'This service is for those who have a key. Enter yours; it is kept until the tab is closed.';
    case 403:
      return 'Its owner or YouTube does not let it be shown; try another one.';
    case 404:
      return 'It may have been removed, or the link is not complete: check it and paste it again.';
    case 429:
      return wait;
    case 503:
      return wait;
    case 502:
    case 504:
      return 'The problem is between this service and YouTube. Try again in a moment.';
    default:
      return "Try again; if it stays, the service's log tells more.";
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
