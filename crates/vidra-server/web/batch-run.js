// Batches: the transcripts of all videos of a playlist. They arrive as server-sent events. A batch belongs to the
// tab and not to the page that started it, so it continues when the user opens another page.

import { connectionLost, eventsOf, Problem, send } from './api.js';
import { number, plural } from './format.js';
import { isTemporary } from './reasons.js';

const CONCURRENCY = 4;

/** The maximum number of videos to skip in a request. */
const MAX_SKIPPED = 4_000;

/** By the id of the playlist. */
const batches = new Map();

/** The batch of a playlist. `page` shows changes. */
export function batchOf(page, playlist) {
  if (!batches.has(playlist.id)) batches.set(playlist.id, new Batch(page, playlist));
  return batches.get(playlist.id);
}

/** The batches that have been started. */
export const startedBatches = () => [...batches.values()].filter(({ state }) => state !== 'idle');

export const isAnyRunning = () => startedBatches().some(({ isRunning }) => isRunning);

/** Stops all batches and deletes their results. */
export function forgetBatches() {
  for (const batch of batches.values()) batch.stop();
  batches.clear();
}

/** The reason why a batch has no transcript of a video, or undefined. */
export function knownFailure(videoId) {
  for (const { results } of batches.values()) {
    for (const { videoId: id, reason, error } of results.values()) {
      if (id === videoId && reason) return new Problem(403, { reason, message: error });
    }
  }
  return undefined;
}

class Batch {
  /** `idle`, `running`, `done`, `stopped` or `failed`. */
  state = 'idle';
  /** The language to fetch; an empty one is the spoken one. `#fetched` is that of the results. */
  lang = '';
  #fetched = '';
  /** Whether the user knows how it ended. */
  isSeen = true;
  problem = null;
  /** The rest of a wait for the rate limit, in seconds. */
  waitSeconds = null;
  /** The scroll position of the list of transcripts. */
  listPlace = 0;
  /** By position: the status of each video, and its NDJSON for the download. */
  results = new Map();
  lines = new Map();

  #page;
  #timer;
  #stopper = new AbortController();
  /** How often each video is in the playlist. */
  #occurrences;

  constructor(page, { id, title, videos, unavailableCount = 0 }) {
    this.#page = page;
    this.id = id;
    this.title = title;
    this.total = videos.length + unavailableCount;
    this.#occurrences = Map.groupBy(videos, (video) => video.id);
  }

  get isRunning() {
    return this.state === 'running';
  }

  get succeeded() {
    return [...this.results.values()].filter(({ status }) => status === 'success').length;
  }

  /** How many videos have no final result. */
  get remaining() {
    return Math.max(0, this.total - [...this.results.values()].filter(isFinal).length);
  }

  /** Whether something is left to fetch in the language of the results. */
  get canResume() {
    return this.state !== 'idle' && this.remaining > 0 && this.lang === this.#fetched;
  }

  choose(lang) {
    this.lang = lang;
    this.#page.changed();
  }

  leaveList(place) {
    this.listPlace = place;
  }

  /** Removes the notice of its end. */
  dismiss() {
    this.isSeen = true;
    this.#page.changed();
  }

  stop() {
    this.#stopper.abort();
  }

  /** Fetches all transcripts, in the language `lang`. */
  restart() {
    this.results.clear();
    this.lines.clear();
    this.#fetched = this.lang;
    return this.resume();
  }

  /** Fetches the transcripts that have no final result. */
  async resume() {
    for (const [position, result] of this.results) {
      if (isFinal(result)) continue;
      this.results.delete(position);
      this.lines.delete(position);
    }
    const stopper = new AbortController();
    this.#stopper = stopper;
    Object.assign(this, { state: 'running', problem: null, waitSeconds: null, isSeen: false });
    this.#page.changed();
    let end = 'failed';
    try {
      if (await this.#read(stopper.signal)) end = 'done';
      else this.problem ??= connectionLost();
    } catch (error) {
      if (stopper.signal.aborted) end = 'stopped';
      else this.problem = error instanceof Problem ? error : connectionLost();
    }
    clearTimeout(this.#timer);
    this.state = end;
    this.#page.announce(this.outcome);
    this.#page.changed();
  }

  /** Reads the stream. Returns whether it reached its end. */
  async #read(signal) {
    const { response } = await send(`/api/playlist/${this.id}/transcript`, {
      method: 'POST',
      body: this.#body(),
      accept: 'text/event-stream',
      signal,
      onExchange: this.#page.changed,
    });
    let isComplete = false;
    for await (const { name, data } of eventsOf(response)) {
      const { type: _, ...value } = JSON.parse(data);
      if (name === 'waiting') this.#showWait(value.waiting);
      else if (name === 'result') this.#add(value);
      else if (name === 'error') this.problem = new Problem(value.error.code, value.error, value.error.retryAfter);
      else if (name === 'summary') isComplete = true;
      this.#page.changed();
    }
    return isComplete;
  }

  /** The request for the remaining transcripts: the positions from the first gap on, without videos that have results. */
  #body() {
    let from = 1;
    while (this.results.has(from)) from += 1;
    const have = Map.groupBy(this.results.values(), ({ videoId }) => videoId);
    const skip = [...have.keys()].filter(
      (id) =>
        have.get(id).length >= (this.#occurrences.get(id)?.length ?? 1) &&
        have.get(id).some(({ position }) => position > from),
    );
    return {
      concurrency: CONCURRENCY,
      ...(this.lang && { lang: this.lang }),
      ...(from > 1 && { from }),
      ...(skip.length && { skip: skip.slice(0, MAX_SKIPPED) }),
    };
  }

  #add(value) {
    const { videoId, title, position, status, error, reason, lines } = value;
    this.results.set(position, { videoId, title, position, status, error, reason, count: lines?.length ?? 0 });
    this.lines.set(position, `${JSON.stringify(value)}\n`);
  }

  /** Shows the wait for the rate limit until it is over. */
  #showWait(seconds) {
    // Zero only shows that the stream is alive.
    if (seconds === 0) return;
    this.waitSeconds = Math.ceil(seconds);
    clearTimeout(this.#timer);
    this.#timer = setTimeout(() => {
      this.waitSeconds = null;
      this.#page.changed();
    }, seconds * 1000);
  }

  /** The progress as a sentence. */
  get outcome() {
    const [good, all] = [this.succeeded, this.results.size];
    const counts = `${plural(good, 'transcript')}, ${number(all - good)} failed`;
    const progress = `${number(all)} of ${number(this.total)}: ${counts}`;
    switch (this.state) {
      case 'running':
        return progress;
      case 'stopped':
        return `Stopped after ${progress}`;
      case 'failed':
        return `Interrupted after ${progress}`;
      default:
        return `Done: ${counts}`;
    }
  }
}

const isFinal = ({ status, reason }) => status === 'success' || !isTemporary({ status: 404, reason });
