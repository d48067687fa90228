// Shows an error as a sentence, with what to do about it.

import { html, nothing } from './vendor/lit-html.js';
import { isValidKey, key } from './api.js';
import { span } from './format.js';

/** Whether this is no failure: the video has no captions or no comments. */
const isEmpty = ({ reason }) => ['captions_disabled', 'comments_disabled'].includes(reason);

/** Replaces a part of the page that failed to load. `part` is the name of that part. */
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
    ${canRetry(problem) ? html`<button type="button" @click=${retryAndFocus}>Try again</button>` : nothing}
  </div>`;
}

const canRetry = ({ status }) => [0, 429, 500, 502, 503, 504].includes(status) || status === undefined;

const OPERATOR = 'The operator of this service can help.';
const YOUTUBE = 'YouTube failed to respond. Try again in a moment.';

/** Advice by the `reason` of the error. */
const BY_REASON = {
  video_private: 'Only its owner and invited people can see it.',
  age_restricted: 'YouTube shows it only to signed-in adults. This service does not sign in.',
  region_blocked: 'Only a service in another country can get it.',
  members_only: 'Only paying members of its channel can see it.',
  not_started: 'Try again when it has started.',
  unplayable: 'YouTube plays it only to people who are signed in.',
  language_unavailable: 'Choose another language.',
  upstream_key_missing: 'The operator of this service has to configure one. Transcripts of single videos work without one.',
  upstream_key_rejected: OPERATOR,
  po_token_required: OPERATOR,
  no_po_token: OPERATOR,
  blocked: OPERATOR,
  unreachable: 'The service has no connection to YouTube. Try again in a moment, or tell its operator.',
  upstream_failed: YOUTUBE,
  timed_out: YOUTUBE,
  platform_changed: 'A newer release of vidra may be able to read it: tell the operator of this service.',
};

/** Advice for status 400, by the part of the page. */
const BY_PART = {
  'the transcript': 'Choose another language.',
  transcripts: 'Check the language: it is a code such as en or pt-BR.',
  videos: 'Change the filters.',
};

function adviceFor(problem, part) {
  const { status, reason, retryAfter } = problem;
  const wait = retryAfter ? `Wait ${span(retryAfter)}, then try again.` : 'Wait a moment, then try again.';
  const known = BY_REASON[reason];
  if (known) return known;
  switch (status) {
    case 0:
      return `Check that it is running at ${location.origin} and try again.`;
    case 400:
      return BY_PART[part] ?? 'Paste the link of a video, playlist or channel, an id or an @handle.';
    case 401:
      return 'Enter your key. The browser stores it until you close the tab.';
    case 403:
      return 'Its owner or YouTube does not allow access. Try another one.';
    case 404:
      return 'It may have been removed, or the link may be incomplete. Check the link and paste it again.';
    case 429:
      return wait;
    case 503:
      return wait;
    case 502:
    case 504:
      return 'The service got no valid response from YouTube. Try again in a moment.';
    default:
      return 'Try again. If the error persists, see the log of the service.';
  }
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
