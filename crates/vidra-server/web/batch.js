// The transcripts of a whole playlist. They arrive as server-sent events.

import { html, nothing } from './vendor/lit-html.js';
import { downloadZip } from './vendor/client-zip.js';
import { linkTo } from './address.js';
import { eventsOf, Problem, send } from './api.js';
import { number, plural } from './format.js';
import { saveAs } from './save.js';
import { errorView } from './error-view.js';

const CONCURRENCY = 4;

export function batch(page, playlist) {
  // `results` has the status of each video; `lines` has the NDJSON for the download.
  const work = { state: 'idle', results: [], lines: [], total: 0, waitSeconds: null, problem: null, summary: null };
  let stopController = null;
  let lang = '';
  let waitTimer;

  /** Shows the wait for the rate limit until it is over. */
  function showWait(seconds) {
    // Zero only says that the stream is alive.
    if (seconds === 0) return;
    work.waitSeconds = Math.ceil(seconds);
    clearTimeout(waitTimer);
    waitTimer = setTimeout(() => {
      work.waitSeconds = null;
      page.changed();
    }, seconds * 1000);
  }

  async function run() {
    stopController = new AbortController();
    const signal = AbortSignal.any([page.signal, stopController.signal]);
    const total = playlist.videos.length + (playlist.unavailableCount ?? 0);
    Object.assign(work, {
      state: 'running',
      results: [],
      lines: [],
      total,
      waitSeconds: null,
      problem: null,
      summary: null,
    });
    page.changed();
    try {
      const body = { concurrency: CONCURRENCY, ...(lang.trim() && { lang: lang.trim() }) };
      const path = `/api/playlist/${playlist.id}/transcript`;
      const { response } = await send(path, {
        method: 'POST',
        body,
        accept: 'text/event-stream',
        signal,
        onExchange: page.onExchange,
      });
      for await (const { name, data } of eventsOf(response)) {
        if (name === 'waiting') showWait(JSON.parse(data).waiting);
        else applyEvent(work, name, data);
        page.changed();
      }
      work.state = work.summary ? 'done' : 'failed';
      if (!work.summary) work.problem ??= new Problem(0, { message: 'The stream ended before the batch was complete' });
    } catch (error) {
      if (page.signal.aborted) return;
      work.state = stopController.signal.aborted ? 'stopped' : 'failed';
      if (work.state === 'failed') work.problem = error;
    }
    page.announce(outcome(work));
    page.changed();
  }

  return () => html`<section class="batch card" aria-labelledby="batch-title">
    <h2 id="batch-title">Transcripts of all videos</h2>
    <div class="row">
      ${
        work.state === 'running'
          ? html`<button type="button" class="stop" @click=${() => stopController.abort()}>Stop</button>`
          : html`<label>Language <input class="code" placeholder="as spoken" maxlength="60" autocapitalize="none" spellcheck="false"
            .value=${lang} @input=${(event) => {
              lang = event.target.value;
            }}></label>
          <button type="button" class="start" @click=${run}>${work.state === 'idle' ? 'Fetch all transcripts' : 'Fetch them again'}</button>`
      }
    </div>
    ${work.state === 'idle' ? html`<p class="quiet">Fetches the transcripts of ${plural(playlist.videos.length, 'video')} in parallel and shows each result when it arrives.</p>` : progress(work)}
    ${work.problem ? errorView(work.problem, run, 'transcripts') : nothing}
    ${
      work.state !== 'running' && succeeded(work)
        ? html`<p class="row">
      <button type="button" @click=${() => saveZip(playlist, work)}>Save as ZIP</button>
      <button type="button" @click=${() => saveAs(new Blob(work.lines, { type: 'application/x-ndjson' }), `${playlist.id}.ndjson`)}>Save as NDJSON</button></p>`
        : nothing
    }
  </section>`;
}

/** Adds the data of an event. */
function applyEvent(work, name, data) {
  // The name of the event says the same.
  const { type: _, ...value } = JSON.parse(data);
  if (name === 'result') {
    const { videoId, title, position, status, error, lines } = value;
    work.results.push({ videoId, title, position, status, error, count: lines?.length ?? 0 });
    work.lines.push(`${JSON.stringify(value)}\n`);
  } else if (name === 'summary') work.summary = value;
  else if (name === 'error') work.problem = new Problem(value.error.code, value.error);
}

const succeeded = ({ results }) => results.filter(({ status }) => status === 'success').length;

function outcome(work) {
  const [good, all] = [succeeded(work), work.results.length];
  const counts = `${plural(good, 'transcript')}, ${number(all - good)} failed`;
  if (work.state === 'running') return `${number(all)} of ${number(work.total)}: ${counts}`;
  if (work.state === 'stopped') return `Stopped after ${number(all)} of ${number(work.total)}: ${counts}`;
  return work.state === 'done' ? `Done: ${counts}` : `Interrupted: ${counts}`;
}

function progress(work) {
  const max = Math.max(work.total, work.results.length);
  return html`<p class="row"><progress max=${max} .value=${work.state === 'done' ? max : work.results.length} aria-label="Transcripts fetched"></progress>
      <span class="outcome">${outcome(work)}</span></p>
    ${work.state === 'running' && work.waitSeconds !== null ? html`<p class="quiet" role="status">Waiting about ${plural(work.waitSeconds, 'second')}. The service limits its request rate so that YouTube does not block it.</p>` : nothing}
    <ol class="results" tabindex="0" aria-label="Result of each video">${work.results.map(
      (result) => html`<li class=${result.status}>
      <span class="quiet">${result.position}</span>
      <a href=${linkTo(result.videoId)} dir="auto">${result.title || result.videoId}</a>
      <span class="state">${result.status === 'success' ? plural(result.count, 'line') : result.error}</span></li>`,
    )}</ol>`;
}

/** Saves the text and the timed lines of each video, and a list of all results. */
async function saveZip(playlist, work) {
  const files = [
    {
      name: 'results.json',
      input: JSON.stringify(
        { playlistId: playlist.id, title: playlist.title, results: work.results },
        null,
        2,
      ),
    },
  ];
  for (const line of work.lines) {
    const { videoId, position, lines } = JSON.parse(line);
    if (!lines) continue;
    const name = `${String(position).padStart(4, '0')}-${videoId}`;
    files.push({ name: `${name}.txt`, input: `${lines.map(({ text }) => text).join('\n')}\n` });
    files.push({ name: `${name}.json`, input: JSON.stringify(lines) });
  }
  saveAs(await downloadZip(files).blob(), `${playlist.id}.zip`);
}
