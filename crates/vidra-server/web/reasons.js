// Texts about errors for the user. `reason` is the machine-readable word in every error of the service.

import { span } from './format.js';

const OPERATOR = 'The operator of this service can help.';
const LATER = 'Try again in a moment.';
const SIGN_IN = 'This service does not sign in.';
const MIDNIGHT = 'It is renewed at midnight Pacific time';

/**
 * By reason: advice, a predicate for a group of videos in a batch (for one, for many), and a heading for a page
 * that shows nothing else. `retry` says that the same request may succeed later, `wait` that the service says when.
 */
const REASONS = {
  video_not_found: {
    heading: 'Video not found',
    advice: 'It may be private or removed, or the link may be incomplete. Check the link and paste it again.',
    group: ['does not exist', 'do not exist'],
  },
  channel_not_found: {
    heading: 'Channel not found',
    advice: 'It may have been removed or renamed. Check the link or the handle.',
  },
  playlist_not_found: {
    heading: 'Playlist not found',
    advice: 'It may have been removed, or the link may be incomplete. Check the link and paste it again.',
  },
  comment_not_found: { advice: 'It may have been removed.' },
  chart_not_found: { advice: 'YouTube has no chart for this region and category.' },
  not_accessible: {
    heading: 'Not public',
    advice: 'Its owner does not show it to the public: it may be private. Try another one.',
    group: ['is not public', 'are not public'],
  },
  video_private: {
    heading: 'Private video',
    advice: 'Only its owner and invited people can see it.',
    group: ['is private', 'are private'],
  },
  age_restricted: {
    advice: `YouTube shows it only to signed-in adults. ${SIGN_IN}`,
    group: ['is for signed-in adults only', 'are for signed-in adults only'],
  },
  members_only: {
    advice: 'Only paying members of its channel can see it.',
    group: ['is for paying members only', 'are for paying members only'],
  },
  region_blocked: {
    advice: 'Only a service in another country can get it.',
    group: ['is blocked in the country of this service', 'are blocked in the country of this service'],
  },
  unplayable: {
    advice: `YouTube plays it only to people who are signed in. ${SIGN_IN}`,
    group: ['cannot be played', 'cannot be played'],
  },
  not_started: {
    advice: 'Try again when it has started.',
    group: ['has not started yet', 'have not started yet'],
    retry: true,
  },
  not_ended: {
    advice: 'Try again when it has ended.',
    group: ['is still on air', 'are still on air'],
    retry: true,
  },
  captions_disabled: { group: ['has no captions', 'have no captions'] },
  language_unavailable: {
    advice: 'Choose another language.',
    group: ['has no captions in that language', 'have no captions in that language'],
  },
  captions_kind_unavailable: {
    advice: 'Choose another kind of captions.',
    group: ['has no captions of that kind', 'have no captions of that kind'],
  },
  comments_disabled: {},
  caller_key_missing: {
    heading: 'A key is required',
    advice: 'Enter your key. The browser stores it until you close the tab.',
  },
  caller_key_invalid: {
    heading: 'A key is required',
    advice: 'Enter your key. The browser stores it until you close the tab.',
  },
  quota_exhausted: {
    advice: 'Transcripts of single videos still work.',
    group: ['waits for tomorrow’s quota', 'wait for tomorrow’s quota'],
    retry: true,
    wait: MIDNIGHT,
  },
  search_quota_exhausted: {
    advice: 'Paste an id or an @handle: they need no search.',
    retry: true,
    wait: MIDNIGHT,
  },
  caller_budget_exhausted: {
    advice: 'The operator of this service can raise it.',
    group: ['waits for tomorrow’s budget', 'wait for tomorrow’s budget'],
    retry: true,
    wait: MIDNIGHT,
  },
  caller_rate_limited: { group: ['exceeded the rate limit', 'exceeded the rate limit'], retry: true, wait: true },
  too_many_batches: { retry: true, wait: true },
  too_many_jobs: {
    advice: 'Wait until a job has ended, or cancel one.',
    group: ['was refused: too many jobs', 'were refused: too many jobs'],
    retry: true,
  },
  too_many_collections: {
    advice: 'Delete a collection, or add the sources to another one.',
    group: ['was refused: too many collections', 'were refused: too many collections'],
  },
  collection_not_found: {
    heading: 'There is no such collection',
    advice: 'It may have been deleted, or belong to another caller.',
  },
  too_many_followers: {
    advice: 'Close other pages and programs that follow jobs.',
    group: ['was refused: too many connections follow jobs', 'were refused: too many connections follow jobs'],
    retry: true,
    wait: true,
  },
  too_many_downloads: {
    advice: 'Wait until a download has ended.',
    group: ['was refused: too many downloads', 'were refused: too many downloads'],
    retry: true,
    wait: true,
  },
  too_many_searches: {
    advice: 'Wait until a search has ended.',
    group: ['was refused: too many searches', 'were refused: too many searches'],
    retry: true,
    wait: true,
  },
  search_timed_out: {
    advice: 'Use rarer words, or search a part of the library.',
    group: ['was not searched in time', 'were not searched in time'],
    retry: true,
  },
  library_limit_reached: {
    advice: 'The operator of this service can increase your limit.',
    group: ['waits for space in the library', 'wait for space in the library'],
    retry: true,
    wait: true,
  },
  transcript_removed: {
    heading: 'Transcript removed',
    advice: 'Start a job for the video again.',
    group: ['was removed from the library', 'were removed from the library'],
  },
  too_many_sources: {
    advice: 'Start several jobs with fewer sources.',
    group: ['was refused: too many sources', 'were refused: too many sources'],
  },
  idempotency_key_reused: {
    advice: 'Use a new key for a new request.',
    group: ['was refused: its key belongs to another request', 'were refused: their key belongs to another request'],
  },
  job_not_found: { heading: 'Job not found', advice: 'It may have been deleted, or belong to another caller.' },
  job_state_conflict: {
    advice: 'The job has ended, or is in another state.',
    group: ['was refused: the job has ended', 'were refused: the job has ended'],
  },
  unit_budget_exhausted: {
    advice: 'Start another job with a larger budget.',
    group: ['was left out: the budget of the job ended', 'were left out: the budget of the job ended'],
  },
  library_off: {
    advice: `This service has no library. ${OPERATOR}`,
    group: ['was refused: the library is off', 'were refused: the library is off'],
  },
  database_unavailable: {
    advice: OPERATOR,
    group: ['waits for the database of the service', 'wait for the database of the service'],
    retry: true,
    wait: true,
  },
  library_unavailable: {
    advice: OPERATOR,
    group: ['waits for the disk of the service', 'wait for the disk of the service'],
    retry: true,
    wait: true,
  },
  library_damaged: {
    advice: OPERATOR,
    group: ['is damaged in the library', 'are damaged in the library'],
  },
  library_too_new: {
    advice: OPERATOR,
    group: ['is in a library of a newer release', 'are in a library of a newer release'],
  },
  library_in_use: {
    advice: OPERATOR,
    group: ['waits for another process', 'wait for another process'],
  },
  upstream_rate_limited: {
    group: ['was limited by YouTube', 'were limited by YouTube'],
    retry: true,
    wait: true,
  },
  translation_rate_limited: {
    group: ['was not translated: YouTube limits translations', 'were not translated: YouTube limits translations'],
    retry: true,
    wait: true,
  },
  paced: {
    group: ['was not fetched in time', 'were not fetched in time'],
    retry: true,
    wait: true,
  },
  overloaded: { group: ['was refused: the service is busy', 'were refused: the service is busy'], retry: true, wait: true },
  shutting_down: {
    group: ['was not fetched: the service shut down', 'were not fetched: the service shut down'],
    retry: true,
    wait: true,
  },
  upstream_failing: {
    group: ['was not fetched: YouTube keeps failing', 'were not fetched: YouTube keeps failing'],
    retry: true,
    wait: true,
  },
  blocked: {
    advice: OPERATOR,
    group: ['was not fetched: YouTube blocks this service', 'were not fetched: YouTube blocks this service'],
    retry: true,
  },
  upstream_key_missing: {
    advice: 'The operator of this service has to configure one. Transcripts of single videos work without one.',
  },
  upstream_key_rejected: { advice: OPERATOR },
  po_token_required: {
    advice: OPERATOR,
    group: ['needs a token that this service lacks', 'need a token that this service lacks'],
  },
  no_po_token: {
    advice: OPERATOR,
    group: ['needs a token that this service could not get', 'need a token that this service could not get'],
  },
  unreachable: {
    advice: 'The service has no connection to YouTube. Try again in a moment, or tell its operator.',
    group: ['was not fetched: YouTube cannot be reached', 'were not fetched: YouTube cannot be reached'],
    retry: true,
  },
  upstream_failed: {
    advice: `YouTube failed to respond. ${LATER}`,
    group: ['was not fetched: YouTube failed', 'were not fetched: YouTube failed'],
    retry: true,
  },
  timed_out: {
    advice: `YouTube failed to respond. ${LATER}`,
    group: ['was not fetched: YouTube did not answer in time', 'were not fetched: YouTube did not answer in time'],
    retry: true,
  },
  platform_changed: {
    advice: 'A newer release of vidra may be able to read it: tell the operator of this service.',
    group: ['has captions in an unknown format', 'have captions in an unknown format'],
  },
  internal: {
    advice: 'It is a fault of vidra. Its operator finds it in the log.',
    group: ['failed because of a fault of vidra', 'failed because of a fault of vidra'],
  },
};

/** Advice for an invalid request, by the part of the page. */
const BY_PART = {
  'the transcript': 'Choose another language.',
  transcripts: 'Choose another language.',
  videos: 'Change the filters.',
};

/** Reasons that hide a video from YouTube's list of videos as if it did not exist. */
const HIDDEN = new Set(['video_private', 'age_restricted', 'members_only', 'region_blocked', 'unplayable']);

export const isHidden = ({ reason }) => HIDDEN.has(reason);

/** Whether nothing else of the page can be shown: no connection, no key, or no such thing. */
export const isFatal = ({ status, reason }) => status === 0 || Boolean(REASONS[reason]?.heading);

/** Whether the same request may succeed later. A reason that this release does not know may be temporary. */
export const isTemporary = ({ status, reason }) =>
  REASONS[reason] ? Boolean(REASONS[reason].retry) : !status || status >= 429;

/** Advice for the user. `part` is the name of the part of the page that failed. */
export function adviceFor({ status, reason, retryAfter }, part) {
  const { advice, wait } = REASONS[reason] ?? {};
  if (wait) {
    const when = typeof wait === 'string' ? `${wait}${retryAfter ? `, in ${span(retryAfter)}` : ''}.` : waiting(retryAfter);
    return [when, advice].filter(Boolean).join(' ');
  }
  if (advice) return advice;
  if (status === 0) return `Check that it is running at ${location.origin} and try again.`;
  if (status === 400) return BY_PART[part] ?? 'Paste the link of a video, playlist or channel, an id or an @handle.';
  return status === 429 || status === 503 ? waiting(retryAfter) : 'Try again. If the error persists, tell the operator of this service.';
}

const waiting = (seconds) => (seconds ? `Wait ${span(seconds)}, then try again.` : 'Wait a moment, then try again.');

/** The heading of a page that shows nothing but an error. */
export function headingFor({ status, reason }) {
  const { heading } = REASONS[reason] ?? {};
  if (heading) return heading;
  if (status === 0) return 'No answer';
  return status === 400 || status === 404 ? 'Not found' : 'That did not work';
}

/** The problem of a group of videos as a predicate: "is private". Falls back to the message of the first. */
export function groupText(reason, count, message) {
  const [one, many] = REASONS[reason]?.group ?? [];
  return (count === 1 ? one : many) ?? `failed: ${message}`;
}
