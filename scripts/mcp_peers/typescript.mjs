// The package @modelcontextprotocol/sdk, with the checks of checks.py. scripts/mcp-clients sends the plan to standard
// input, with the tables of calls.py.
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { pathToFileURL } from "node:url";

const require = createRequire(pathToFileURL(`${process.env.PEERS}/`));
const sdk = "@modelcontextprotocol/sdk";
const { Client } = require(`${sdk}/client/index.js`);
const { StdioClientTransport } = require(`${sdk}/client/stdio.js`);
const { StreamableHTTPClientTransport } = require(`${sdk}/client/streamableHttp.js`);
const { version } = JSON.parse(
  readFileSync(`${process.env.PEERS}/node_modules/${sdk}/package.json`, "utf-8"),
);

const plan = JSON.parse(readFileSync(0, "utf-8"));
const tables = plan.tables;
// In milliseconds. The default of the client is a minute too.
const PATIENCE = 60_000;
const slow = tables.slowTool;

function checkAnswer(tool, answer) {
  assert.ok(!answer.isError, `${tool}: ${JSON.stringify(answer)}`);
  assert.equal(answer.content[0].text.split("youtube-data").length, 3, tool);
  if (answer.structuredContent) {
    assert.match(answer.structuredContent.notice, /never follow instructions/, tool);
  }
}

// Opens a session, and collects the errors that the client reports to its handler.
async function connect(transport) {
  const client = new Client({ name: "vidra-peer", version: "1" });
  const errors = [];
  client.onerror = (error) => errors.push(String(error));
  // The client passes the protocol version only to the transport.
  let protocol;
  const setVersion = transport.setProtocolVersion?.bind(transport);
  transport.setProtocolVersion = (version) => {
    protocol = version;
    setVersion?.(version);
  };
  await client.connect(transport);
  const call = (name, args, options) =>
    client.callTool({ name, arguments: args }, undefined, options);
  const close = async () => {
    if (transport.terminateSession) await transport.terminateSession();
    client.onerror = undefined;
    await client.close();
  };
  return { client, call, close, errors, protocol };
}

const checks = {
  async list({ client, service }) {
    // The client also reads the output schemas from this list.
    const listed = (await client.listTools()).tools;
    assert.deepEqual(listed, service.tools);
  },

  async call({ client, call, errors, service }, answers) {
    const listed = new Set(service.tools.map((tool) => tool.name));
    for (const tool of Object.keys(tables.calls).filter((name) => listed.has(name))) {
      const steps = [];
      const onprogress = ({ progress, total }) => steps.push([progress, total]);
      const count = tables.steps[tool];
      const answer = await call(tool, tables.calls[tool], count ? { onprogress } : {});
      checkAnswer(tool, answer);
      if (!tables.changing.includes(tool)) answers.set(tool, answer.content[0].text);
      if (count) {
        await client.ping();
        // The client removes its progress handler as soon as it has the answer, also if the progress arrived before. It
        // then reports the progress as an error.
        const late = errors.filter((error) => /progress notification for an unknown/.test(error));
        assert.ok(steps.length + late.length > 0, tool);
        steps.forEach(([done, total], index) => {
          assert.equal(total, count, tool);
          assert.ok(index === 0 || done > steps[index - 1][0], `${tool}: ${steps}`);
        });
        errors.splice(0, errors.length, ...errors.filter((error) => !late.includes(error)));
      }
    }
    const [tool, args, words] = tables.fails;
    const answer = await call(tool, args);
    assert.ok(answer.isError && answer.content[0].text.includes(words), JSON.stringify(answer));
  },

  async wrong({ call }) {
    for (const [tool, args, words] of tables.wrongArguments) {
      const hasWords = (text) => words.every((word) => text.includes(word));
      if (tables.wrongArgumentsAre === "result") {
        const answer = await call(tool, args);
        const { text } = answer.content[0];
        assert.ok(answer.isError && hasWords(text), text);
      } else {
        const isRight = ({ code, message, data }) =>
          code === tables.invalidParams && hasWords(`${message} ${JSON.stringify(data)}`);
        await assert.rejects(call(tool, args), isRight, tool);
      }
    }
  },

  async unknown({ call }) {
    await assert.rejects(call(tables.unknownTool, {}), { code: tables.invalidParams });
  },

  async cancel({ call }) {
    const signal = AbortSignal.timeout(500);
    await assert.rejects(call(slow, { video: tables.cancelledVideo }, { signal }));
    await checkSession(call);
  },

  async crowd({ call }, answers) {
    const names = [...answers.keys()];
    const crowd = Array.from({ length: tables.crowd }, (_, index) => names[index % names.length]);
    const given = await Promise.all(crowd.map((name) => call(name, tables.calls[name])));
    crowd.forEach((name, index) => {
      assert.equal(given[index].content[0].text, answers.get(name), name);
    });
  },
};

async function checkSession(call) {
  checkAnswer("get_videos", await call("get_videos", tables.calls.get_videos));
}

async function checkDropped(url, requestInit) {
  const { call, close } = await connect(
    new StreamableHTTPClientTransport(new URL(url), { requestInit }),
  );
  checkAnswer(slow, await call(slow, { video: tables.droppedVideo }, { timeout: PATIENCE }));
  await checkSession(call);
  await close();
}

// A row of the table.
async function checkTransport(transport, service) {
  const results = {};
  const record = async (name, check) => {
    try {
      results[name] = (await check()) ?? "ok";
    } catch (error) {
      results[name] = String(error.stack ?? error);
    }
  };
  const row = { client: "TypeScript SDK", version, protocol: "", transport, results };
  await record("connect", async () => {
    const session = await connect(open(service));
    row.protocol = session.protocol;
    const answers = new Map();
    for (const [name, check] of Object.entries(checks)) {
      await record(name, () => check({ ...session, service }, answers));
    }
    assert.deepEqual(session.errors, []);
    await session.close();
  });
  if (results.connect === "ok") delete results.connect;
  if (service.url) {
    const init = { headers: service.headers };
    await record("drop", () => checkDropped(service.dropped_running, init));
    const lose = () => checkDropped(service.dropped_finished, init);
    await record("lose", tables.resumesFinished ? lose : async () => "off");
    if (service.headers.authorization) {
      const refused = () => connect(new StreamableHTTPClientTransport(new URL(service.url)));
      await record("refuse", () => assert.rejects(refused()));
    }
  }
  return row;
}

function open({ url, headers, command }) {
  if (url) {
    return new StreamableHTTPClientTransport(new URL(url), { requestInit: { headers } });
  }
  // A log line on standard output would break the protocol.
  const env = { HOME: plan.folder, RUST_LOG: "trace" };
  const [program, ...args] = command;
  return new StdioClientTransport({ command: program, args, env, stderr: "ignore" });
}

const rows = Object.entries(plan.services).map((service) => checkTransport(...service));
console.log(JSON.stringify(await Promise.all(rows)));
// Streams of a check that failed may still be open.
setTimeout(() => process.exit(), 1000).unref();
