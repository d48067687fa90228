// The log of requests of the current page: each with its quota cost, its curl command and its response.

import { html, nothing } from './vendor/lit-html.js';
import { exchanges, key } from './api.js';
import { number, plural, quoted } from './format.js';

/** The maximum number of characters of a response that are shown. */
const MAX_SHOWN = 200_000;

/** `changed` renders the page again; `forgetKey` deletes the caller's key. */
export function requestLog(changed, forgetKey) {
  if (!exchanges.length) return nothing;
  const units = exchanges.reduce((sum, { cost }) => sum + Number(cost ?? 0), 0);
  // Headers precede the body, so that a stream cannot report its cost in one.
  const streams = exchanges.filter(({ accept }) => accept === 'text/event-stream').length;
  const cached = exchanges.filter(({ cache }) => cache && cache !== 'miss').length;
  return html`<section class="trail" aria-labelledby="trail-title">
    <h2 id="trail-title">Requests and quota cost</h2>
    <p><strong>${plural(units, 'unit')}</strong> of the day's quota for ${plural(exchanges.length, 'request')}${
      cached ? html`, ${number(cached)} answered from the cache` : nothing
    }${streams ? `, not including the ${streams > 1 ? 'streams' : 'stream'}` : ''}.</p>
    <ol>${exchanges.map((exchange) => html`<li>${entry(exchange, changed)}</li>`)}</ol>
    ${key.get() ? html`<p><button type="button" class="small" @click=${forgetKey}>Forget the key</button></p>` : nothing}
  </section>`;
}

function entry(exchange, changed) {
  const { method, path, accept, status, cost, cache, elapsed } = exchange;
  const command = curl(exchange);
  const open = (event) => {
    exchange.isOpen = event.target.open;
    changed();
  };
  return html`<details @toggle=${open}>
    <summary><span class="method">${method}</span> <code>${decodeURI(path)}</code>
      <span class="facts"><span class=${typeof status === 'number' && status < 400 ? 'good' : 'bad'}>${status ?? '…'}</span>
        ${cache ? html`<span>${cache}</span>` : nothing}
        ${cost ? html`<span>${plural(Number(cost), 'unit')}</span>` : nothing}
        ${accept ? html`<span>stream: its cost is in the log</span>` : nothing}
        ${elapsed ? html`<span>${Math.round(elapsed)} ms</span>` : nothing}</span></summary>
    <div class="curl"><code tabindex="0" aria-label="curl command">${command}</code>
      <button type="button" class="small" @click=${(event) => copy(event.target, command)}>Copy</button></div>
    <pre class="json" tabindex="0" aria-label="Response as JSON" .textContent=${textOf(exchange)}></pre>
  </details>`;
}

/** The response as text. Empty while the entry is closed, because a response may have megabytes. */
function textOf(exchange) {
  const { isOpen, json } = exchange;
  if (!isOpen) return '';
  if (!json) return 'No JSON: the response is a stream or a file, or has not arrived.';
  exchange.text ??= shortened(JSON.stringify(json, null, 2));
  return exchange.text;
}

function shortened(text) {
  const rest = text.length - MAX_SHOWN;
  return rest > 0 ? `${text.slice(0, MAX_SHOWN)}\n… and ${number(rest)} more characters` : text;
}

/** The command never contains the key, because users paste commands into notes and tickets. */
function curl({ method, path, body, accept }) {
  const words = ['curl'];
  if (accept === 'text/event-stream') words.push('-N');
  if (method !== 'GET') words.push('-X', method);
  if (key.get()) words.push('-H', '"Authorization: Bearer $VIDRA_KEY"');
  if (accept) words.push('-H', quoted(`accept: ${accept}`));
  if (body) words.push('-H', quoted('content-type: application/json'), '-d', quoted(JSON.stringify(body)));
  return [...words, quoted(location.origin + path)].join(' ');
}

async function copy(button, text) {
  // Browsers may forbid clipboard access. The user can still select the command.
  const isDone = await navigator.clipboard?.writeText(text).then(
    () => true,
    () => false,
  );
  button.textContent = isDone ? 'Copied' : 'Select the text to copy';
}
