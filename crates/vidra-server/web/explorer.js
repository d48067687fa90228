// The explorer: reads the address, finds out what it names, shows that.

import { html, nothing, render } from './vendor/lit-html.js';
import { arrived, isElsewhere, told } from './address.js';
import { ask, exchanges, key } from './api.js';
import { channelPage } from './channel.js';
import { withoutPictures } from './thumbnail.js';
import { playlistPage } from './playlist.js';
import { requestLog } from './request-log.js';
import { errorView } from './error-view.js';
import { videoPage } from './video.js';
import { welcome } from './welcome.js';

const main = document.getElementById('view');
const form = document.getElementById('search');
const input = document.getElementById('id');
const live = document.getElementById('live');

let settings = { isDemo: false, examples: [] };
let leaving = new AbortController();
let shown = null;
let isDue = false;
let announced = document.title;

/** Draws once for all that changed since the last frame. */
function changed() {
  if (isDue) return;
  isDue = true;
  requestAnimationFrame(() => {
    isDue = false;
    render(html`${shown?.template() ?? nothing}${requestLog(changed, forget)}`, main);
    if (shown?.title) name(shown);
  });
}

/** Names the page, and once what it is called is certain also to who cannot see that it is another one. */
function name({ title, isOnTheWay = false }) {
  const named = title === 'vidra' ? 'vidra' : `${title} – vidra`;
  if (document.title !== named) document.title = named;
  if (isOnTheWay || announced === named) return;
  announced = named;
  announce(named);
}

const announce = (text) => {
  live.textContent = text;
};

/** Asks anew without the key, so that nothing stays that only it could show. */
function forget() {
  key.forget();
  go();
}

/** Shows what the address names. What is under way for something else ends. */
async function go() {
  leaving.abort();
  leaving = new AbortController();
  const { signal } = leaving;
  arrived();
  const page = { signal, changed, announce, told: changed };
  exchanges.length = 0;
  const wanted = told('id').trim();
  input.value = wanted;
  document.documentElement.classList.toggle('is-welcome', !wanted);
  // The next page is another one to lit, whatever it shares with this one.
  render(nothing, main);
  if (!wanted) {
    shown = welcome(settings);
    return changed();
  }
  announced = null;
  shown = {
    title: wanted,
    isOnTheWay: true,
    template: () => html`<h1 class="unseen">${wanted}</h1><p class="loading">Looking at ${wanted}…</p>`,
  };
  changed();
  try {
    const next = await pageOf(page, wanted);
    if (signal.aborted) return;
    shown = next;
  } catch (problem) {
    if (signal.aborted) return;
    const heading = headingOf(problem);
    shown = { title: heading, template: () => html`<h1>${heading}</h1>${errorView(problem, go)}` };
  }
  changed();
}

/** What a page is called that cannot be shown. */
function headingOf({ status }) {
  if (status === 400 || status === 404) return 'Not found';
  if (status === 401) return 'A key is needed';
  return status === 0 ? 'No answer' : 'That did not work';
}

/** What a link or id leads to. The service knows. */
async function pageOf(page, wanted) {
  const link = await ask('/api/url/parse', { ...page, method: 'POST', body: { url: wanted } });
  switch (link.type) {
    case 'video':
      return videoPage(page, link);
    case 'playlist':
      return playlistPage(page, link.playlistId);
    case 'channel':
      return channelPage(page, link.channelId ?? link.handle ?? wanted);
    default:
      // One word that is nothing else may be a handle without its @, as the service takes it.
      if (/^[\p{L}\p{N}._·-]{3,30}$/u.test(wanted)) return channelPage(page, wanted);
      throw Object.assign(new Error(link.error), { status: 400 });
  }
}

form.addEventListener('submit', (event) => {
  event.preventDefault();
  visit(`/?${new URLSearchParams({ id: input.value.trim() })}`);
});

/** Links within the explorer need no new page. */
document.addEventListener('click', (event) => {
  const link = event.target.closest?.('a[href]');
  if (link?.classList.contains('skip')) {
    // Going to its fragment would be going to another address.
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
  visit(link.pathname + link.search);
  // The link is gone; the focus goes to what it led to.
  main.focus({ preventScroll: true });
});

function visit(address) {
  history.pushState(null, '', address);
  scrollTo(0, 0);
  go();
}

addEventListener('popstate', () => {
  if (isElsewhere()) go();
});

async function begin() {
  // It has come.
  main.replaceChildren();
  // Without them it is a service like any other.
  settings = await fetch('/web/settings.json')
    .then((answer) => answer.json())
    .catch(() => settings);
  if (settings.isDemo) withoutPictures();
  if (!told('id')) input.focus();
  go();
}

begin();
