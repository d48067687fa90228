// The transcripts of all videos of a playlist: the part of its page, and the notice on other pages.

import { html, nothing } from './vendor/lit-html.js';
import { downloadZip } from './vendor/client-zip.js';
import { linkTo } from './address.js';
import { batchOf, startedBatches } from './batch-run.js';
import { plural } from './format.js';
import { languageGroups } from './languages.js';
import { groupText } from './reasons.js';
import { saveAs } from './save.js';
import { errorView } from './error-view.js';

/** The part of the page of a playlist. */
export function batch(page, playlist) {
  const work = batchOf(page, playlist);
  // The list is where the user left it.
  page.afterRender(() => document.querySelector('.results')?.scrollTo(0, work.listPlace));
  return () => {
    if (!work.isRunning) work.isSeen = true;
    return html`<section class="batch card" aria-labelledby="batch-title">
    <h2 id="batch-title">Transcripts of all videos</h2>
    ${controls(work)}
    ${work.state === 'idle' ? html`<p class="quiet">Fetches the transcripts of ${plural(playlist.videos.length, 'video')} in parallel and shows each result when it arrives.</p>` : progress(work)}
    ${work.problem ? errorView(work.problem, work.problem.status === 401 ? () => work.resume() : null, 'transcripts') : nothing}
    ${work.state === 'idle' ? nothing : html`${failures(work)}${transcripts(work)}`}
    ${
      !work.isRunning && work.succeeded
        ? html`<p class="row">
      <button type="button" @click=${() => saveZip(work)}>Save as ZIP</button>
      <button type="button" @click=${() => saveAs(new Blob([...work.lines.values()], { type: 'application/x-ndjson' }), `${work.id}.ndjson`)}>Save as NDJSON</button></p>`
        : nothing
    }
  </section>`;
  };
}

/** One button starts, stops and continues, so that it keeps the focus. */
function controls(work) {
  const [label, action] = mainAction(work);
  return html`<div class="row">
    <label>Language <select name="lang" ?disabled=${work.isRunning} @change=${(event) => work.choose(event.target.value)}>
      <option value="">As spoken</option>
      ${languageGroups().map(
        ([name, languages]) => html`<optgroup label=${name}>${languages.map(
          ({ code, name: language }) => html`<option value=${code} ?selected=${code === work.lang}>${language}</option>`,
        )}</optgroup>`,
      )}</select></label>
    <button type="button" class=${work.isRunning ? 'stop' : 'start'} @click=${action}>${label}</button>
    ${
      !work.isRunning && work.canResume
        ? html`<button type="button" class="small" @click=${() => work.restart()}>Fetch all again</button>`
        : nothing
    }
  </div>`;
}

function mainAction(work) {
  if (work.isRunning) return ['Stop', () => work.stop()];
  if (work.state === 'idle') return ['Fetch all transcripts', () => work.restart()];
  if (!work.canResume) return ['Fetch all again', () => work.restart()];
  return [`Continue with the remaining ${plural(work.remaining, 'video')}`, () => work.resume()];
}

function progress(work) {
  const max = Math.max(work.total, work.results.size);
  return html`<p class="row"><progress max=${max} .value=${work.state === 'done' ? max : work.results.size} aria-label="Transcripts fetched"></progress>
      <span class="outcome">${work.outcome}</span></p>
    ${work.isRunning && work.waitSeconds !== null ? html`<p class="quiet" role="status">Waiting about ${plural(work.waitSeconds, 'second')}. The service limits its request rate so that YouTube does not block it.</p>` : nothing}`;
}

function transcripts(work) {
  const good = [...work.results.values()].filter(({ status }) => status === 'success');
  if (!good.length) return nothing;
  return html`<ol class="results" tabindex="0" aria-label="Transcripts" @scroll=${(event) => work.leaveList(event.target.scrollTop)}>${good.map(
    (result) => html`<li>${entry(result)}<span class="state">${plural(result.count, 'line')}</span></li>`,
  )}</ol>`;
}

/** The failures by reason. The videos of each are folded. */
function failures(work) {
  const failed = [...work.results.values()].filter(({ status }) => status === 'failed');
  const groups = [...Map.groupBy(failed, ({ reason }) => reason)].sort(([, one], [, other]) => other.length - one.length);
  return html`<div class="failures">${groups.map(([reason, list]) => {
    const [{ error, videoId }] = list;
    const text = groupText(reason, list.length, error.replace(`: ${videoId}`, ''));
    return html`<details><summary>${plural(list.length, 'video')} ${text}</summary>
      <ul>${list.map((result) => html`<li>${entry(result)}</li>`)}</ul></details>`;
  })}</div>`;
}

const entry = ({ position, videoId, title }) => html`<span class="quiet">${position}</span>
  <a href=${linkTo(videoId)} dir="auto">${title || videoId}</a>`;

/** The batches that the current page does not show: those that run, and those whose end the user has not seen. */
export function batchNotices(shownId) {
  const others = startedBatches().filter((work) => work.id !== shownId && (work.isRunning || !work.isSeen));
  return others.map(
    (work) => html`<div class="card"><p><a href=${linkTo(work.id)} dir="auto">${work.title}</a></p>
      <p class="outcome">${work.outcome}</p>
      ${work.isRunning ? html`<progress max=${Math.max(1, work.total)} .value=${work.results.size} aria-label="Transcripts of ${work.title}"></progress>` : nothing}
      ${
        work.isRunning
          ? html`<button type="button" class="small" @click=${() => work.stop()}>Stop</button>`
          : html`<button type="button" class="small" @click=${() => work.dismiss()}>Dismiss</button>`
      }</div>`,
  );
}

/** Saves the text and the timed lines of each video, and a list of all results. */
async function saveZip({ id, title, results, lines }) {
  const files = [
    {
      name: 'results.json',
      input: JSON.stringify({ playlistId: id, title, results: [...results.values()] }, null, 2),
    },
  ];
  for (const line of lines.values()) {
    const { videoId, position, lines: spoken } = JSON.parse(line);
    if (!spoken) continue;
    const name = `${String(position).padStart(4, '0')}-${videoId}`;
    files.push({ name: `${name}.txt`, input: `${spoken.map(({ text }) => text).join('\n')}\n` });
    files.push({ name: `${name}.json`, input: JSON.stringify(spoken) });
  }
  saveAs(await downloadZip(files).blob(), `${id}.zip`);
}
