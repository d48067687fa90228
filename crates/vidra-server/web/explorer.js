// The explorer: reads the id from the URL and shows its video, playlist or channel.

import { html, nothing, render } from './vendor/lit-html.js';
import { hasChanged, markShown, parameter } from './address.js';
import { exchanges, fetchJson, key } from './api.js';
import { channelPage } from './channel.js';
import { batchNotices } from './batch.js';
import { forgetBatches, isAnyRunning } from './batch-run.js';
import { parseRequest, plainLink } from './link.js';
import { boxes } from './loading.js';
import { headingFor } from './reasons.js';
import { restoreScroll, startRestoring, storeScroll } from './scroll.js';
import { enableThumbnails } from './thumbnail.js';
import { playlistPage } from './playlist.js';
import { requestLog } from './request-log.js';
import { errorView } from './error-view.js';
import { videoPage } from './video.js';
import { welcome } from './welcome.js';

const main = document.getElementById('view');
const form = document.getElementById('search');
const input = document.getElementById('id');
const live = document.getElementById('live');
const notices = document.getElementById('notices');

let settings = { isDemo: false, examples: [] };
let navigation = new AbortController();
let shownPage = null;
let isScheduled = false;
let announced = document.title;
/** Called once, after the next render. */
let afterNextRender = [];

/** Schedules a render. All changes of one frame share it. */
function changed() {
  if (isScheduled) return;
  isScheduled = true;
  requestAnimationFrame(() => {
    isScheduled = false;
    render(html`${shownPage?.template() ?? nothing}${requestLog(changed, forgetKey)}`, main);
    render(batchNotices(shownPage?.playlistId), notices);
    if (shownPage?.title) setTitle(shownPage);
    for (const task of afterNextRender.splice(0)) task();
    restoreScroll();
  });
}

/** Sets the title of the page. Screen readers get it too, once the final title is known. */
function setTitle({ title, isLoading = false }) {
  const fullTitle = title === 'vidra' ? 'vidra' : `${title} – vidra`;
  if (document.title !== fullTitle) document.title = fullTitle;
  if (isLoading || announced === fullTitle) return;
  announced = fullTitle;
  announce(fullTitle);
}

const announce = (text) => {
  live.textContent = text;
};

/** Deletes the key and loads the page again, so that no data stays that required it. */
function forgetKey() {
  key.forget();
  forgetBatches();
  // The button that had the focus disappears.
  main.focus({ preventScroll: true });
  showPage();
}

/** Shows the page of the current URL, and cancels the requests of the page before. */
async function showPage() {
  navigation.abort();
  navigation = new AbortController();
  const { signal } = navigation;
  markShown();
  const afterRender = (task) => afterNextRender.push(task);
  const page = { signal, changed, announce, afterRender, onExchange: changed, reload: showPage };
  exchanges.length = 0;
  afterNextRender = [];
  const id = parameter('id').trim();
  input.value = id;
  document.documentElement.classList.toggle('is-welcome', !id);
  // Clears the old page, so that lit does not reuse its elements.
  render(nothing, main);
  if (!id) {
    shownPage = welcome(() => settings);
    return changed();
  }
  announced = null;
  shownPage = {
    title: id,
    isLoading: true,
    template: () => html`<h1 class="unseen">${id}</h1><p class="loading">Loading ${id}…</p>${boxes('headline', 'plot', 'plot')}`,
  };
  changed();
  try {
    const next = await pageOf(page, id);
    if (signal.aborted) return;
    shownPage = next;
  } catch (problem) {
    if (signal.aborted) return;
    const heading = headingFor(problem);
    shownPage = { title: heading, template: () => html`<h1>${heading}</h1>${errorView(problem, showPage)}` };
  }
  changed();
}

/** The page for a link or id. The service parses it, unless it is a plain id. */
async function pageOf(page, id) {
  const [path, options] = parseRequest(id);
  const link = plainLink(id) ?? (await fetchJson(path, { ...options, ...page }));
  switch (link.type) {
    case 'video':
      return videoPage(page, link);
    case 'playlist':
      return playlistPage(page, link.playlistId);
    case 'channel':
      return channelPage(page, link.channelId ?? link.handle ?? id);
    default:
      // A single word may be a handle without its @. The service accepts that too.
      if (/^[\p{L}\p{N}._·-]{3,30}$/u.test(id)) return channelPage(page, id);
      throw Object.assign(new Error(link.error), { status: 400 });
  }
}

form.addEventListener('submit', (event) => {
  event.preventDefault();
  navigate(`/?${new URLSearchParams({ id: input.value.trim() })}`);
});

/** Links within the explorer do not reload the page. */
document.addEventListener('click', (event) => {
  const link = event.target.closest?.('a[href]');
  if (link?.classList.contains('skip')) {
    // The default action would change the URL.
    event.preventDefault();
    return main.focus();
  }
  const isPlain = event.button === 0 && !event.metaKey && !event.ctrlKey && !event.shiftKey && !event.altKey;
  if (
    !link ||
    !isPlain ||
    link.target ||
    link.origin !== location.origin ||
    link.pathname !== '/' ||
    link.hash
  )
    return;
  event.preventDefault();
  navigate(link.pathname + link.search);
  // The link that had the focus disappears.
  main.focus({ preventScroll: true });
});

function navigate(address) {
  storeScroll();
  history.pushState(null, '', address);
  scrollTo(0, 0);
  showPage();
}

addEventListener('popstate', () => {
  if (!hasChanged()) return;
  startRestoring();
  showPage();
  // The element that had the focus no longer exists.
  main.focus({ preventScroll: true });
});

/** Another page, unlike another view of this one, ends a batch. The browser asks the user first. */
addEventListener('beforeunload', (event) => {
  if (isAnyRunning()) event.preventDefault();
});

/** Reads the settings of the service. The page does not wait for them. */
async function readSettings() {
  // Without settings the defaults apply: no demo.
  settings = await fetch('/web/settings.json')
    .then((answer) => answer.json())
    .catch(() => settings);
  if (!settings.isDemo) enableThumbnails();
  changed();
  requestAnimationFrame(() => document.querySelector('.foot').classList.remove('waiting'));
}

// Removes the placeholder.
main.replaceChildren();
if (!parameter('id')) input.focus();
startRestoring();
showPage();
readSettings();
