// The page of collections: stored and missing transcripts, the last and the next sync, and the units of each day.

import { html, nothing, render } from './vendor/lit-html.js';
import { fetchJson, key } from './api.js';
import { errorView } from './error-view.js';
import { number, plural } from './format.js';

/** How often the page is read again, in milliseconds. */
const INTERVAL = 30_000;

const main = document.getElementById('view');
const time = new Intl.DateTimeFormat('en', { dateStyle: 'medium', timeStyle: 'short' });
const at = (timestamp) => (timestamp ? time.format(Date.parse(timestamp)) : '–');

/** The sources of the collections whose table is open, by path. */
const opened = new Map();
let collections = null;
let problem = null;

const pathOf = ({ name, owner }) =>
  `/api/collections/${encodeURIComponent(name)}?owner=${encodeURIComponent(owner ?? '')}`;

function shown() {
  if (problem) return html`<h1>Collections</h1>${errorView(problem, read)}`;
  if (!collections) return html`<h1>Collections</h1><p class="quiet" role="status">Loading…</p>`;
  const none = html`<p class="quiet">There are none yet. <code>vidra collection add</code> or
    <code>PUT /api/collections/{name}</code> creates one.</p>`;
  return html`<h1>Collections</h1>
    ${collections.length ? html`<div class="collections">${collections.map(collection)}</div>` : none}
    ${key.get() ? html`<p><button class="small" type="button" @click=${forgetKey}>Forget the key</button></p>` : nothing}`;
}

function collection(it) {
  const { coverage, lastSync, units } = it;
  const failed = Object.entries(coverage.failed).sort(([, one], [, other]) => other - one);
  const missing = [
    [coverage.pending, 'pending'],
    [coverage.retrying, 'tried again'],
    [coverage.gone, 'deleted or private'],
    [it.unlistedSources, 'sources not listed yet'],
    [it.failedSources, 'sources failed'],
  ].filter(([count]) => count > 0);
  const reasons = failed.map(([reason, count]) => `${number(count)} ${reason}`);
  const rest = [...reasons, ...missing.map(([count, what]) => `${number(count)} ${what}`)];
  const path = pathOf(it);
  return html`<article class="collection" aria-label=${it.name}>
    <h2>${it.name}<span class="state">${it.state}${it.reason ? ` (${it.reason})` : ''}${it.owner ? ` · ${it.owner}` : ''}</span></h2>
    <dl>
      <dt>Transcripts</dt><dd>${number(coverage.transcribed)} of ${plural(coverage.videos, 'video')}</dd>
      ${rest.length ? html`<dt>Missing</dt><dd>${rest.join(', ')}</dd>` : nothing}
      <dt>Last sync</dt><dd>${lastSync ? result(lastSync) : 'not yet'}</dd>
      <dt>Next sync</dt><dd>${at(it.nextSync)} · every ${it.options.every}</dd>
      <dt>Units a day</dt><dd>${units.length ? units.map(({ day, units }) => `${day}: ${number(units)}`).join(', ') : '0'}</dd>
    </dl>
    <details @toggle=${(event) => toggle(event.target.open, path)}>
      <summary>${plural(it.sourceCount, 'source')}</summary>${sources(opened.get(path))}
    </details>
  </article>`;
}

const result = ({ startedAt, state, waiting, succeeded, units }) =>
  `${at(startedAt)} · ${waiting ? `waits for ${waiting.reason} until ${at(waiting.until)}` : (state ?? 'ended')} · ${plural(succeeded, 'new transcript')} · ${plural(units, 'unit')}`;

function sources(read) {
  if (!read) return nothing;
  if (read.problem) return errorView(read.problem);
  const row = ({ source, title, videos, checkedAt, error }) => html`<tr>
    <td>${source}</td><td>${title ?? ''}</td><td class="count">${number(videos)}</td><td>${at(checkedAt)}</td>
    <td>${error ? error.message : ''}</td>
  </tr>`;
  return html`<div class="wide" tabindex="0" role="region" aria-label="Sources"><table>
    <thead><tr><th>Source</th><th>Title</th><th class="count">Videos</th><th>Checked</th><th>Error</th></tr></thead>
    <tbody>${read.list.map(row)}</tbody>
  </table></div>`;
}

async function toggle(isOpen, path) {
  if (!isOpen) return opened.delete(path);
  try {
    opened.set(path, { list: (await fetchJson(path)).sources });
  } catch (error) {
    opened.set(path, { problem: error });
  }
  draw();
}

function forgetKey() {
  key.forget();
  collections = null;
  read();
}

const draw = () => render(shown(), main);

/** Reads all pages of the list. */
async function read() {
  try {
    const all = [];
    let cursor = '';
    do {
      const page = await fetchJson(`/api/collections?limit=100${cursor && `&cursor=${cursor}`}`);
      all.push(...page.items);
      cursor = page.nextCursor ?? '';
    } while (cursor);
    [collections, problem] = [all, null];
  } catch (error) {
    // A page that was read before is better than none.
    if (!collections || error.status === 401) problem = error;
  }
  draw();
}

draw();
read();
setInterval(() => document.hidden || problem || read(), INTERVAL);
