// The videos of a playlist as a table. The service sorts and filters (POST /api/playlist/{id}/query).
// The page searches titles and sorts by title and date itself, because the service cannot.

import { html, nothing } from './vendor/lit-html.js';
import { linkTo, parameter, remember, remembered, setParameters } from './address.js';
import { fetchJson } from './api.js';
import { count, date, length, number, plural, span } from './format.js';
import { reloadable } from './loading.js';
import { errorView } from './error-view.js';

/** The number of rows at first, and of each "Show more". */
const ROWS = 100;

/** The pause in typing before a request, in milliseconds. */
const DEBOUNCE = 200;

/** Columns that the service sorts. */
const COLUMNS = [
  ['Length', 'duration'],
  ['Views', 'views'],
  ['Likes', 'likes'],
];

const alphabetical = new Intl.Collator('en', { numeric: true, sensitivity: 'base' });

/** Columns that the page sorts, by their ascending order. */
const BY_PAGE = {
  title: (one, other) => alphabetical.compare(one.title, other.title),
  published: (one, other) => Date.parse(one.publishedAt) - Date.parse(other.publishedAt),
};

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
  const view = { sort: parameter('sort'), title: parameter('title'), shown: remembered('rows') ?? ROWS };
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
    const before = JSON.stringify(queryBody(view));
    view[name] = value;
    setParameters({ [name]: value });
    showRows(ROWS);
    if (JSON.stringify(queryBody(view)) === before) return;
    clearTimeout(debounceTimer);
    debounceTimer = setTimeout(selected.reload, wait);
  }

  function showRows(count) {
    view.shown = count;
    // The back button restores it.
    remember('rows', count);
    page.changed();
  }
  const showMore = () => {
    const first = view.shown;
    showRows(view.shown + ROWS);
    page.afterRender(() => {
      // The last rows are shown, and the button that had the focus no longer exists.
      if (!document.querySelector('.videos .more')) document.querySelectorAll('.videos tbody a')[first]?.focus();
    });
  };

  if (Object.keys(queryBody(view)).length) selected.reload();

  const sortBy = (sort) => change('sort', sort);
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
    const named = selected.value.videos.filter(({ title }) => title.toLocaleLowerCase().includes(needle));
    const found = sorted(named, view.sort);
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
          ${column('Title', 'title', view.sort, sortBy, ['title', '-title'])}
          ${COLUMNS.map(([name, key]) => column(name, key, view.sort, sortBy))}
          ${column('Published', 'published', view.sort, sortBy)}
        </tr></thead>
        <tbody>${rows(found.slice(0, view.shown))}</tbody>
      </table></div>
      ${
        found.length > view.shown
          ? html`<p><button type="button" class="more" @click=${showMore}>Show ${number(Math.min(ROWS, found.length - view.shown))} more</button></p>`
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
  const isByService = COLUMNS.some(([, key]) => key === field);
  return { ...(Object.keys(filter).length && { filter }), ...(isByService && { sort: { field, order } }) };
}

/** Parses the `sort` parameter of the URL: `views`, or `-views` for descending order. */
function parsed(sort) {
  const field = sort.replace(/^-/, '');
  const isKnown = field in BY_PAGE || COLUMNS.some(([, key]) => key === field);
  return isKnown ? { field, order: sort.startsWith('-') ? 'desc' : 'asc' } : {};
}

/** The videos in the order of a column that the page sorts. Videos without a date come last. */
function sorted(videos, sort) {
  const { field, order } = parsed(sort);
  const compare = BY_PAGE[field];
  if (!compare) return videos;
  const sign = order === 'desc' ? -1 : 1;
  const isKnown = (video) => field !== 'published' || !Number.isNaN(Date.parse(video.publishedAt));
  return [
    ...videos.filter(isKnown).sort((one, other) => sign * compare(one, other)),
    ...videos.filter((video) => !isKnown(video)),
  ];
}

/** The order of a column, in words: ascending and descending. */
const ORDERS = { title: ['A to Z', 'Z to A'], published: ['oldest first', 'newest first'] };

function sortedBy(sort) {
  const { field, order } = parsed(sort);
  const [up, down] = ORDERS[field] ?? ['lowest first', 'highest first'];
  return field ? `${field}, ${order === 'desc' ? down : up}` : 'position';
}

/** A sortable column. Clicks cycle through two orders, usually descending and ascending, and playlist order. */
function column(name, key, sort, change, [first, second] = [`-${key}`, key]) {
  const next = { [first]: second, [second]: '' }[sort] ?? first;
  const [state, arrow] = { [`-${key}`]: ['descending', '▼'], [key]: ['ascending', '▲'] }[sort] ?? [
    'none',
    '',
  ];
  const isText = key in BY_PAGE;
  return html`<th scope="col" class=${isText ? '' : 'right'} aria-sort=${state}>${header(name, name, arrow, () => change(next))}</th>`;
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
