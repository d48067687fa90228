// The client of the API. It logs every request with its cost.

/** The requests of the current page, newest last. */
export const exchanges = [];

const KEY = 'vidra-key';

/** An error response of the service, or status 0 if there was no response. */
export class Problem extends Error {
  constructor(status, { reason, message, details = [] }, retryAfter = null) {
    super(message);
    this.status = status;
    this.reason = reason;
    this.details = details;
    this.retryAfter = retryAfter;
  }
}

/** The caller's key. It lasts until the tab is closed, or until the page is closed if the browser blocks storage. */
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

/** Whether the value can be sent in a header. */
export const isValidKey = (value) => /^[\x21-\x7e]+$/.test(value);

/** Sends a request and returns the JSON of the response. */
export async function fetchJson(path, options = {}) {
  const { exchange, response } = await send(path, options);
  exchange.json = await response.json();
  exchange.elapsed = performance.now() - exchange.startedAt;
  options.onExchange?.();
  return exchange.json;
}

/** Sends a request and returns its response without reading the body. Throws a `Problem` for an error status. */
export async function send(path, { method = 'GET', body, accept, signal, onExchange } = {}) {
  signal?.throwIfAborted();
  const exchange = { method, path, body, accept, startedAt: performance.now(), elapsed: null, status: null };
  exchanges.push(exchange);
  onExchange?.();
  const headers = headersOf(body, accept);
  let response;
  try {
    // Revalidates the browser's own cache, which would otherwise return the headers of an earlier request.
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
    elapsed: performance.now() - exchange.startedAt,
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

/** The name and data of each server-sent event of a response. */
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
        // A block without data is a keep-alive comment.
        if (field('data')) yield { name: field('event'), data: field('data') };
      }
    }
  } finally {
    // Ends the request if the reader stops early. It fails on a broken stream, which needs no end.
    reader.cancel().catch(() => {});
  }
}
