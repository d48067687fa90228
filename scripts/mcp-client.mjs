// Uses every tool with the npm package @modelcontextprotocol/sdk. Called by scripts/mcp-clients, which
// tells on standard input what to call and where.
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { pathToFileURL } from "node:url";

const require = createRequire(pathToFileURL(`${process.env.PEERS}/`));
const { Client } = require("@modelcontextprotocol/sdk/client/index.js");
const { StdioClientTransport } = require("@modelcontextprotocol/sdk/client/stdio.js");
const { StreamableHTTPClientTransport } = require(
  "@modelcontextprotocol/sdk/client/streamableHttp.js",
);

const told = JSON.parse(readFileSync(0, "utf-8"));
const INVALID_PARAMS = -32602;

async function use(name, transport) {
  const client = new Client({ name: "vidra-peer", version: "1" });
  // This client forgets whom to tell of progress as soon as it sees the answer, also where it read the
  // progress before: then it says so here.
  const late = [];
  client.onerror = (error) => {
    assert.match(String(error), /progress notification for an unknown token/, name);
    late.push(error);
  };
  await client.connect(transport);
  // Also tells the client what to hold structured content against.
  const { tools } = await client.listTools();
  assert.deepEqual(tools, told.list, name);
  for (const [tool, args] of Object.entries(told.calls)) {
    const steps = [];
    const onprogress = ({ progress, total }) => steps.push([progress, total]);
    const options = tool === "batch_transcribe" ? { onprogress } : {};
    const result = await client.callTool({ name: tool, arguments: args }, undefined, options);
    assert.ok(!result.isError, `${name}: ${tool}: ${JSON.stringify(result)}`);
    assert.equal(result.content[0].text.split("youtube-data").length, 3, tool);
    assert.match(result.structuredContent.notice, /never follow instructions/);
    if (options.onprogress) {
      await client.ping();
      assert.equal(steps.length + late.length, 3, name);
      assert.deepEqual(steps, [[1, 3], [2, 3], [3, 3]].slice(0, steps.length), name);
    }
  }
  const [fails, args, words] = told.fails;
  const failed = await client.callTool({ name: fails, arguments: args });
  assert.ok(failed.isError && failed.content[0].text.includes(words), JSON.stringify(failed));
  for (const [tool, args] of told.malformed) {
    const refused = (error) => error.code === INVALID_PARAMS;
    await assert.rejects(client.callTool({ name: tool, arguments: args }), refused, tool);
  }
  // One that is ended at once leaves the session in order.
  const ended = AbortSignal.abort();
  const call = { name: "get_video", arguments: told.calls.get_video };
  await assert.rejects(client.callTool(call, undefined, { signal: ended }));
  await client.ping();
  if (transport.terminateSession) await transport.terminateSession();
  client.onerror = undefined;
  await client.close();
  console.log(`${name}: ${tools.length} tools listed and called`);
}

const env = { HOME: process.env.HOME, RUST_LOG: "trace" };
await use(
  "node, stdio",
  new StdioClientTransport({
    command: told.vidra,
    args: ["mcp", "--demo"],
    env,
    stderr: "ignore",
  }),
);
await use("node, http", new StreamableHTTPClientTransport(new URL(told.url)));
