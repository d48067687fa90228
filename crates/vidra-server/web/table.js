// The videos of a playlist as a table. The service sorts and filters (POST /api/playlist/{id}/query).
// The page searches titles itself, because the service cannot.

import { html, nothing } from './vendor/lit-html.js';
import { linkTo, parameter, setParameters } from './address.js';
import { fetchJson } from './api.js';
import { count, date, length, number, plural, span } from './format.js';
import { reloadable } from './loading.js';
import { errorView } from './error-view.js';

/** The number of rows at first, and of each "Show more". */
const ROWS = 100;

/** The pause in typing before a request, in milliseconds. */
const DEBOUNCE = 200;

const COLUMNS = [
  ['Length', 'duration'],
  ['Views', 'views'],
  ['Likes', 'likes'],
];

const BOUNDS = [
  ['Minutes, at least', 'minMinutes', 'duration', 'min', 60],
  ['Minutes, at most', 'maxMinutes', 'duration', 'max', 60],
  ['Views, at least', 'minViews', 'views', 'min', 1],
  ['Likes, at least', 'minLikes', 'likes', 'min', 1],
];

export function table(page, playlist) {
  const positions = Map.groupBy(
    playlist.videos.map(({ id }, at) => ({ id, position: at + 1 })),
    ({ id }) => id,
  );
  const view = { sort: parameter('sort'), title: parameter('title'), shown: ROWS };
  for (const [, name] of BOUNDS) view[name] = parameter(name);

  /** The videos that match the controls. */
  const selected = reloadable(
    page,
    () => fetchJson(`/api/playlist/${playlist.id}/query`, { ...page, method: 'POST', body: queryBody(view) }),
    playlist,
  );

  let debounceTimer;
  page.signal.addEventListener('abort', () => clearTimeout(debounceTimer));
  function change(name, value, wait = 0) {
    Object.assign(view, { [name]: value, shown: ROWS });
    setParameters({ [name]: value });
    page.changed();
    if (name === 'title') return;
    clearTimeout(debounceTimer);
    debounceTimer = setTimeout(selected.reload, wait);
  }

  if (view.sort || BOUNDS.some(([, name]) => view[name])) selected.reload();

  const field = ([label, name]) => html`<label>${label}
    <input type="number" min="0" step="any" inputmode="decimal" name=${name} .value=${view[name]}
      @input=${(event) => change(name, event.target.value, DEBOUNCE)}></label>`;

  /** Rows with their positions. A duplicate video gets its positions in ascending order. */
  const rows = (videos) => {
    const used = new Map();
    return videos.map((video) => {
      const before = used.get(video.id) ?? 0;
      used.set(video.id, before + 1);
      return row(video, positions.get(video.id)?.[before]?.position);
    });
  };

  return () => {
    const needle = view.title.trim().toLocaleLowerCase();
    const found = selected.value.videos.filter(({ title }) => title.toLocaleLowerCase().includes(needle));
    const seconds = found.reduce((sum, { duration }) => sum + duration, 0);
    return html`<section class="videos card" aria-labelledby="videos-title">
      <h2 id="videos-title">Videos</h2>
      <form class="filters" aria-label="Filter the videos" @submit=${(event) => event.preventDefault()}>
        <label class="grow">Title contains
          <input type="search" name="title" .value=${view.title} @input=${(event) => change('title', event.target.value)}></label>
        ${BOUNDS.map(field)}
      </form>
      ${selected.problem ? errorView(selected.problem, selected.reload, 'videos') : nothing}
      <p class="quiet" role="status">${number(found.length)} of ${plural(playlist.videos.length, 'video')}, ${span(seconds)}</p>
      <div class="scroll" tabindex="0" role="region" aria-label="Table of videos">
      <table>
        <caption class="unseen">Videos of the playlist, sorted by ${sortedBy(view.sort)}</caption>
        <thead><tr>
          <th scope="col" class="right" aria-sort=${view.sort ? 'none' : 'ascending'}>${header('#', 'Position', !view.sort && '▲', () => change('sort', ''))}</th>
          <th scope="col">Title</th>
          ${COLUMNS.map(([name, key]) => column(name, key, view.sort, (sort) => change('sort', sort)))}
          <th scope="col">Published</th>
        </tr></thead>
        <tbody>${rows(found.slice(0, view.shown))}</tbody>
      </table></div>
      ${
        found.length > view.shown
          ? html`<p><button type="button" @click=${() => {
              view.shown += ROWS;
              page.changed();
            }}>Show ${number(Math.min(ROWS, found.length - view.shown))} more</button></p>`
          : nothing
      }
    </section>`;
  };
}

/** The body of the query. */
function queryBody(view) {
  const filter = {};
  for (const [, name, key, bound, unit] of BOUNDS) {
    const value = Number.parseFloat(view[name]);
    if (value >= 0) filter[key] = { ...filter[key], [bound]: Math.round(value * unit) };
  }
  const { field, order } = parsed(view.sort);
  return { ...(Object.keys(filter).length && { filter }), ...(field && { sort: { field, order } }) };
}

/** Parses the `sort` parameter of the URL: `views`, or `-views` for descending order. */
function parsed(sort) {
  const field = sort.replace(/^-/, '');
  const isKnown = COLUMNS.some(([, key]) => key === field);
  return isKnown ? { field, order: sort.startsWith('-') ? 'desc' : 'asc' } : {};
}

function sortedBy(sort) {
  const { field, order } = parsed(sort);
  return field ? `${field}, ${order === 'desc' ? 'highest' : 'lowest'} first` : 'position';
}

/** A sortable column. Clicks cycle through descending, ascending and playlist order. */
function column(name, key, sort, change) {
  const next = { [`-${key}`]: key, [key]: '' }[sort] ?? `-${key}`;
  const [state, arrow] = { [`-${key}`]: ['descending', '▼'], [key]: ['ascending', '▲'] }[sort] ?? [
    'none',
    '',
  ];
  return html`<th scope="col" class="right" aria-sort=${state}>${header(name, name, arrow, () => change(next))}</th>`;
}

const header = (
  text,
  label,
  arrow,
  sort,
) => html`<button type="button" class="plain" aria-label="Sort by ${label.toLowerCase()}"
  @click=${sort}>${text} <span aria-hidden="true">${arrow || ''}</span></button>`;

function row(video, position) {
  const cell = (name) => html`<td class="right">${count(video, name)}</td>`;
  return html`<tr><td class="right quiet">${position}</td>
    <th scope="row"><a href=${linkTo(video.id)} dir="auto">${video.title}</a></th>
    <td class="right">${length(video)}</td>${cell('views')}${cell('likes')}
    <td class="nowrap">${date(video.publishedAt)}</td></tr>`;
}
