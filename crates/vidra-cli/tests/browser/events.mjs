// The reader of server-sent events, without a browser: chunk boundaries do not change the events.
import assert from "node:assert/strict";
import { readFile } from "node:fs/promises";
import { test } from "node:test";

const source = await readFile(new URL("../../../vidra-server/web/api.js", import.meta.url));
const { eventsOf } = await import(`data:text/javascript;base64,${source.toString("base64")}`);

const STREAM = `: alive\n\nevent: result\ndata: {"title":"Três – 日本 🎵"}\n\ndata: [1]\nid: 7\n\nevent: summary\ndata: {}\n\nevent: cut off\ndata:`;
const EVENTS = [
  { name: "result", data: '{"title":"Três – 日本 🎵"}' },
  { name: undefined, data: "[1]" },
  { name: "summary", data: "{}" },
];

const cut = (bytes, ...places) =>
  new Response(
    new ReadableStream({
      start(controller) {
        const edges = [0, ...places, bytes.length];
        for (let at = 1; at < edges.length; at += 1) controller.enqueue(bytes.subarray(edges[at - 1], edges[at]));
        controller.close();
      },
    }),
  );

async function all(response) {
  const events = [];
  for await (const event of eventsOf(response)) events.push(event);
  return events;
}

for (const end of ["\n", "\r\n"]) {
  test(`chunk boundaries do not change the events: lines end in ${JSON.stringify(end)}`, async () => {
    const bytes = new TextEncoder().encode(STREAM.replaceAll("\n", end));
    for (let at = 1; at + 1 < bytes.length; at += 1) {
      assert.deepEqual(await all(cut(bytes, at, at + 1)), EVENTS, `${at}`);
    }
  });
}

test("a reader that stops cancels the stream", async () => {
  let isEnded = false;
  const body = new ReadableStream({
    pull: (controller) => controller.enqueue(new TextEncoder().encode("data: 1\n\n")),
    cancel: () => {
      isEnded = true;
    },
  });
  for await (const { data } of eventsOf(new Response(body))) {
    assert.equal(data, "1");
    break;
  }
  await new Promise((resolve) => setTimeout(resolve, 10));
  assert.ok(isEnded);
});
