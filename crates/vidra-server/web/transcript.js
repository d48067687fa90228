// The transcript of a video, with search, links to timestamps and downloads.

import { html, nothing } from './vendor/lit-html.js';
import { parameter, setParameters } from './address.js';
import { fetchJson, key, send } from './api.js';
import { findAll, indexOf } from './find.js';
import { clock, number, plural } from './format.js';
import { transcriptPath } from './link.js';
import { boxes, load, partView } from './loading.js';
import { saveAs } from './save.js';
import { errorView } from './error-view.js';

const FORMATS = ['srt', 'vtt', 'txt', 'json'];

/** The number of lines that Page Up and Page Down move. */
const PAGE = 10;

/** The part of the page, with its `view`. */
export function transcript(page, videoId) {
  let [find, lang] = [parameter('find'), parameter('lang')];
  let tracks = null;
  let saveError = null;
  /** The state of the search: its lines and phrase, the matches, and the match that is shown. */
  let found = { lines: null, index: null, phrase: '', matches: [], current: 0 };
  /** The line whose link has the only tab stop of the list. */
  let active = 0;

  const address = (more) => transcriptPath(videoId, { ...more, lang });
  const lines = load(page, () => fetchJson(address({}), page));

  /** Searches again if the lines or the phrase have changed. */
  function matchesIn(all) {
    if (found.lines !== all) found = { lines: all, index: indexOf(all), phrase: '', matches: [], current: 0 };
    if (found.phrase !== find) {
      Object.assign(found, { phrase: find, matches: findAll(found.index, find), current: 0 });
      show();
    }
    return found;
  }

  /** Scrolls the list, and not the page, to the current match. */
  function show() {
    active = found.matches[found.current]?.[0].line ?? active;
    page.afterRender(() => {
      const mark = document.querySelector('.lines .current');
      const list = mark?.closest('.lines');
      if (list) list.scrollTop += mark.getBoundingClientRect().top - list.getBoundingClientRect().top - list.clientHeight / 3;
    });
  }

  const step = (by) => {
    const { matches, current } = found;
    if (!matches.length) return;
    found.current = (current + by + matches.length) % matches.length;
    show();
    page.changed();
  };
  const search = (event) => {
    find = event.target.value;
    setParameters({ find });
    page.changed();
  };
  const stepByKey = (event) => {
    if (event.key !== 'Enter') return;
    event.preventDefault();
    step(event.shiftKey ? -1 : 1);
  };
  const moveByKey = (event) => {
    const last = event.currentTarget.children.length - 1;
    const to = {
      ArrowDown: active + 1,
      ArrowUp: active - 1,
      PageDown: active + PAGE,
      PageUp: active - PAGE,
      Home: 0,
      End: last,
    }[event.key];
    if (to === undefined || event.ctrlKey || event.altKey || event.metaKey) return;
    event.preventDefault();
    active = Math.min(Math.max(to, 0), last);
    event.currentTarget.children[active].querySelector('a').focus();
    page.changed();
  };
  const follow = (event) => {
    active = [...event.currentTarget.children].indexOf(event.target.closest('li'));
  };
  const selectLanguage = (event) => {
    lang = event.target.value;
    saveError = null;
    active = 0;
    setParameters({ lang });
    lines.value = null;
    lines.reload();
  };
  /** Fetches the file and saves it. A plain link cannot send the key. */
  const save = async (href) => {
    saveError = null;
    try {
      const { response } = await send(href, page);
      const name = /filename="([^"]+)"/.exec(response.headers.get('content-disposition') ?? '')?.[1];
      saveAs(await response.blob(), name ?? 'transcript');
    } catch (problem) {
      if (page.signal.aborted) return;
      saveError = errorView(problem, () => save(href), 'the transcript');
    }
    page.changed();
  };
  const saveWithKey = (event) => {
    if (!key.get()) return;
    event.preventDefault();
    save(event.target.getAttribute('href'));
  };
  // Loaded on demand, because it costs a separate request to YouTube.
  const loadTracks = () => {
    tracks = load(page, async () => {
      const list = await fetchJson(`/api/transcript/${videoId}/tracks`, page);
      // The button that had the focus is replaced.
      page.afterRender(() => document.querySelector('.transcript select')?.focus());
      return list;
    });
  };
  const languages = () => {
    if (!tracks) return html`<button type="button" class="small" @click=${loadTracks}>Other languages</button>`;
    return partView(
      tracks,
      'languages',
      (list) => html`<label>Language
      <select @change=${selectLanguage}>${[{ languageCode: '', languageName: 'As spoken' }, ...distinct(list)].map(
        (track) =>
          html`<option value=${track.languageCode} ?selected=${track.languageCode === lang}>${track.languageName}</option>`,
      )}
      </select></label>`,
    );
  };
  const searchForm = (all, { matches, current }) => html`<div class="row">
    <label class="grow"><span class="unseen">Search in the transcript</span>
      <input type="search" class="find" placeholder="Search the transcript" .value=${find} @input=${search} @keydown=${stepByKey}></label>
    <p class="quiet count" role="status">${countText(all, matches, current, find)}</p>
    <span class="steps" ?hidden=${!find.trim()}>
      ${stepButton('Previous match', '↑', () => step(-1), matches)}${stepButton('Next match', '↓', () => step(1), matches)}</span>
  </div>`;

  return {
    get isLoading() {
      return lines.isLoading;
    },
    get problem() {
      return lines.problem;
    },
    view: () => html`<section class="transcript card" aria-labelledby="transcript-title">
    <div class="row apart"><h2 id="transcript-title">Transcript</h2>${languages()}</div>
    ${partView(
      lines,
      'the transcript',
      (all) => {
        const { matches, current } = matchesIn(all);
        const marks = marksByLine(matches);
        return html`${searchForm(all, { matches, current })}
        <p class="unseen" id="lines-help">The arrow keys move from line to line.</p>
        <ol class="lines" aria-label="Lines of the transcript" aria-describedby="lines-help" @keydown=${moveByKey} @focusin=${follow}>${all.map(
          (line, at) => lineView(videoId, line, at === active, marks.get(at), current),
        )}</ol>
        <p class="row downloads"><span class="quiet">Save as</span> ${FORMATS.map(
          (format) => html`
          <a class="button small" href=${address({ format, download: '1' })} download @click=${saveWithKey}>${format.toUpperCase()}</a>`,
        )}</p>${saveError ?? nothing}`;
      },
      boxes('lines'),
    )}
  </section>`,
  };
}

const stepButton = (label, arrow, action, matches) =>
  html`<button type="button" class="small" aria-label=${label} title=${label} ?disabled=${!matches.length} @click=${action}>${arrow}</button>`;

function countText(all, matches, current, find) {
  if (!find.trim()) return plural(all.length, 'line');
  if (!matches.length) return 'No matches';
  return matches.length === 1 ? '1 match' : `${number(current + 1)} of ${number(matches.length)} matches`;
}

function lineView(videoId, { text, offset, lang }, isActive, marks, current) {
  const second = Math.floor(offset);
  return html`<li><a href="https://www.youtube.com/watch?v=${videoId}&t=${second}s" target="_blank" rel="noopener noreferrer"
    tabindex=${isActive ? '0' : '-1'} aria-label="${clock(offset)}, open at this time on YouTube">${clock(offset)}</a> <span dir="auto" lang=${lang || nothing}>${marked(text, marks, current)}</span></li>`;
}

/** The parts of matches in each line. */
function marksByLine(matches) {
  const marks = new Map();
  matches.forEach((parts, match) => {
    for (const { line, start, end } of parts) {
      if (!marks.has(line)) marks.set(line, []);
      marks.get(line).push({ start, end, match });
    }
  });
  return marks;
}

/** The text with its matches marked. */
function marked(text, marks, current) {
  if (!marks) return text;
  const pieces = marks.map(({ start, end, match }, at) => {
    const before = text.slice(marks[at - 1]?.end ?? 0, start);
    return html`${before}<mark class=${match === current ? 'current' : ''}>${text.slice(start, end)}</mark>`;
  });
  return html`${pieces}${text.slice(marks.at(-1).end)}`;
}

function distinct(tracks) {
  const seen = new Map(tracks.map((track) => [track.languageCode, track]));
  for (const track of tracks) if (!track.isAutoGenerated) seen.set(track.languageCode, track);
  return [...seen.values()];
}
