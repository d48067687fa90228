// The one door to the service: every question is written down, with what it cost.

/** What was asked for what is shown, newest last. */
export const exchanges = [];

const KEY = 'vidra-key';

/** A failure: what the service said, or that it said nothing. */
export class Problem extends Error {
  constructor(status, { reason, message, details = [] }, retryAfter = null) {
    super(message);
    this.status = status;
    this.reason = reason;
    this.details = details;
    this.retryAfter = retryAfter;
  }
}

/** The caller's key, for as long as the tab is open; where nothing may be kept, as long as the page is. */
export const key = {
  value: null,
  get() {
    try {
      return this.value ?? sessionStorage.getItem(KEY);
    } catch {
      return this.value;
    }
  },
  set(value) {
    this.value = value;
    try {
      sessionStorage.setItem(KEY, value);
    } catch {
      /* as above */
    }
  },
  forget() {
    this.value = null;
    try {
      sessionStorage.removeItem(KEY);
    } catch {
      /* as above */
    }
  },
};

/** Whether it can be sent at all. */
export const isKey = (value) => /^[\x21-\x7e]+$/.test(value);

/** Asks, and gives the answer's JSON. */
export async function ask(path, options = {}) {
  const { exchange, response } = await send(path, options);
  exchange.json = await response.json();
  exchange.took = performance.now() - exchange.began;
  options.told?.();
  return exchange.json;
}

/** Asks, and gives the answer as it comes; throws a `Problem` where it is none. */
export async function send(path, { method = 'GET', body, accept, signal, told } = {}) {
  signal?.throwIfAborted();
  const exchange = { method, path, body, accept, began: performance.now(), took: null, status: null };
  exchanges.push(exchange);
  told?.();
  const headers = headersOf(body, accept);
  let response;
  try {
    // Not from the browser's own cache without asking: it would tell the cost of another time.
    response = await fetch(path, {
      method,
      body: body && JSON.stringify(body),
      headers,
      signal,
      cache: 'no-cache',
    });
  } catch (error) {
    exchange.status = signal?.aborted ? 'stopped' : 'no answer';
    throw signal?.aborted ? error : new Problem(0, { message: 'The service does not answer' });
  }
  const header = (name) => response.headers.get(name);
  Object.assign(exchange, {
    status: response.status,
    cost: header('x-quota-cost'),
    cache: header('x-cache'),
    took: performance.now() - exchange.began,
  });
  if (response.ok) return { exchange, response };
  exchange.json = await response.json().catch(() => null);
  throw new Problem(
    response.status,
    exchange.json?.error ?? { message: `The service answered ${response.status}` },
    Number(header('retry-after')) || null,
  );
}

function headersOf(body, accept) {
  const headers = new Headers();
  if (body) headers.set('content-type', 'application/json');
  if (accept) headers.set('accept', accept);
  if (key.get()) headers.set('authorization', `Bearer ${key.get()}`);
  return headers;
}

/** The events of an answer that is a stream of them: name and data. */
export async function* eventsOf(response) {
  let rest = '';
  const reader = response.body.pipeThrough(new TextDecoderStream()).getReader();
  try {
    for (;;) {
      const { done, value } = await reader.read();
      if (done) return;
      const blocks = (rest + value).split(/\r?\n\r?\n/);
      rest = blocks.pop();
      for (const block of blocks) {
        const field = (name) =>
          block
            .split(/\r?\n/)
            .find((line) => line.startsWith(`${name}: `))
            ?.slice(name.length + 2);
        // A comment says only that the stream is alive.
        if (field('data')) yield { name: field('event'), data: field('data') };
      }
    }
  } finally {
    // Who stops reading has no use for the rest. A stream that broke off cannot be told.
    reader.cancel().catch(() => {});
  }
}
