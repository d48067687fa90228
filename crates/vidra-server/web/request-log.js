// What it cost: every question that was asked for what is shown, with its price, the curl line that asks
// it again, and the answer.

import { html, nothing } from './vendor/lit-html.js';
import { exchanges, key } from './api.js';
import { number, plural, quoted } from './format.js';

/** More of an answer than that is no reading matter. */
const MOST_SHOWN = 200_000;

/** `changed` draws it anew; `forget` is called when the caller's key is to be known no more. */
export function requestLog(changed, forget) {
  if (!exchanges.length) return nothing;
  const units = exchanges.reduce((sum, { cost }) => sum + Number(cost ?? 0), 0);
  // What a stream cost is known when it ends, and a header comes before.
  const streams = exchanges.filter(({ accept }) => accept === 'text/event-stream').length;
  const kept = exchanges.filter(({ cache }) => cache && cache !== 'miss').length;
  return html`<section class="trail" aria-labelledby="trail-title">
    <h2 id="trail-title">What it cost</h2>
    <p><strong>${plural(units, 'unit')}</strong> of the day's quota for ${plural(exchanges.length, 'request')}${
      kept ? html`, ${number(kept)} answered from what was known` : nothing
    }${streams ? `, without what the ${streams > 1 ? 'streams' : 'stream'} cost` : ''}.</p>
    <ol>${exchanges.map((exchange) => html`<li>${entry(exchange, changed)}</li>`)}</ol>
    ${key.get() ? html`<p><button type="button" class="small" @click=${forget}>Forget the key</button></p>` : nothing}
  </section>`;
}

function entry(exchange, changed) {
  const { method, path, accept, status, cost, cache, took } = exchange;
  const line = curl(exchange);
  const open = (event) => {
    exchange.isOpen = event.target.open;
    changed();
  };
  return html`<details @toggle=${open}>
    <summary><span class="method">${method}</span> <code>${decodeURI(path)}</code>
      <span class="facts"><span class=${typeof status === 'number' && status < 400 ? 'good' : 'bad'}>${status ?? '…'}</span>
        ${cache ? html`<span>${cache}</span>` : nothing}
        ${cost ? html`<span>${plural(Number(cost), 'unit')}</span>` : nothing}
        ${accept ? html`<span>a stream: its cost is in the log</span>` : nothing}
        ${took ? html`<span>${Math.round(took)} ms</span>` : nothing}</span></summary>
    <div class="curl"><code tabindex="0" aria-label="The curl line">${line}</code>
      <button type="button" class="small" @click=${(event) => copy(event.target, line)}>Copy</button></div>
    <pre class="json" tabindex="0" aria-label="The answer as JSON" .textContent=${textOf(exchange)}></pre>
  </details>`;
}

/** Only when it is looked at: an answer may be megabytes. */
function textOf(exchange) {
  const { isOpen, json } = exchange;
  if (!isOpen) return '';
  if (!json) return 'No JSON: the answer is a stream or a file, or has not come.';
  exchange.text ??= shortened(JSON.stringify(json, null, 2));
  return exchange.text;
}

function shortened(text) {
  const rest = text.length - MOST_SHOWN;
  return rest > 0 ? `${text.slice(0, MOST_SHOWN)}\n… and ${number(rest)} more characters` : text;
}

/** Never with the key itself, which would end up in notes and tickets. */
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
  // Not everywhere allowed; then the line can still be selected.
  const isDone = await navigator.clipboard?.writeText(text).then(
    () => true,
    () => false,
  );
  button.textContent = isDone ? 'Copied' : 'Select it and copy';
}
