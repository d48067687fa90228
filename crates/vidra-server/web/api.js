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

/** The service does not answer, or its answer broke off. */
export const connectionLost = () => new Problem(0, { message: 'The connection to the service was lost' });

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
  try {
    exchange.json = await response.json();
  } catch (error) {
    throw options.signal?.aborted ? error : connectionLost();
  }
  exchange.elapsed = performance.now() - exchange.startedAt;
  options.onExchange?.();
  return exchange.json;
}

/** Requests that were sent before the page that needs them. */
const early = new Map();

const identity = (path, { method = 'GET', body }) => `${method} ${path} ${JSON.stringify(body)}`;

/** Sends a request. The first `send` with the same arguments gets its response. */
export function prefetch(path, options = {}) {
  early.set(identity(path, options), begin(path, options));
}

/** Sends a request and returns its response without reading the body. Throws a `Problem` for an error status. */
export async function send(path, options = {}) {
  const { signal, onExchange } = options;
  signal?.throwIfAborted();
  const name = identity(path, options);
  const { exchange, answer } = early.get(name) ?? begin(path, options);
  early.delete(name);
  exchanges.push(exchange);
  onExchange?.();
  let response;
  try {
    response = await answer;
  } catch (error) {
    exchange.status = signal?.aborted ? 'stopped' : 'no answer';
    throw signal?.aborted ? error : new Problem(0, { message: 'The service does not answer' });
  }
  // An early request does not know the signal of its page.
  signal?.throwIfAborted();
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

/** Sends a request. Returns its entry of the log, and a promise of the response. */
function begin(path, { method = 'GET', body, accept, signal }) {
  const exchange = { method, path, body, accept, startedAt: performance.now(), elapsed: null, status: null };
  // Revalidates the browser's own cache, which would otherwise return the headers of an earlier request.
  const answer = fetch(path, {
    method,
    body: body && JSON.stringify(body),
    headers: headersOf(body, accept),
    signal,
    cache: 'no-cache',
  });
  // Prevents an unhandled rejection: no code may wait for an early request yet.
  answer.catch(() => {});
  return { exchange, answer };
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
