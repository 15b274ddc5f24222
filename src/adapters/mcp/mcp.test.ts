/** Tools of a server of the official MCP SDK, in one process, over its own transport. */
import { Client } from "@modelcontextprotocol/sdk/client/index.js";
import { InMemoryTransport } from "@modelcontextprotocol/sdk/inMemory.js";
import { Server } from "@modelcontextprotocol/sdk/server/index.js";
import {
  CallToolRequestSchema,
  CancelledNotificationSchema,
  ListToolsRequestSchema,
} from "@modelcontextprotocol/sdk/types.js";
import { describe, expect, it } from "vitest";
import { ToolBox, Turn } from "../../runtime/index.ts";
import { runCalls } from "../loop/run-calls.ts";
import { contentText } from "./content-text.ts";
import { type McpClient, type McpTool, mcpTools } from "./index.ts";

const anyInput = { type: "object" as const };

interface World {
  readonly client: Client;
  readonly server: Server;
  /** Parameters of each call. */
  readonly called: { name: string; _meta?: Record<string, unknown> | undefined }[];
  /** Ids of requests that were cancelled. */
  readonly cancelled: unknown[];
}

type Answer = (
  name: string,
  extra: { sendNotification: (one: never) => Promise<void>; _meta?: { progressToken?: unknown } },
) => unknown;

/** @param pages of the list, each asked for by the number of the page before it. */
async function world(pages: readonly McpTool[][], answer: Answer): Promise<World> {
  const called: World["called"] = [];
  const cancelled: unknown[] = [];
  const server = new Server({ name: "s", version: "1" }, { capabilities: { tools: {} } });
  server.setRequestHandler(ListToolsRequestSchema, ({ params }) => {
    const at = Number(params?.cursor ?? 0);
    return {
      tools: pages[at] as never,
      ...(at + 1 < pages.length && { nextCursor: String(at + 1) }),
    };
  });
  server.setRequestHandler(CallToolRequestSchema, async ({ params }, extra) => {
    called.push(params);
    return (await answer(params.name, extra as never)) as never;
  });
  const client = new Client({ name: "c", version: "1" });
  const [one, other] = InMemoryTransport.createLinkedPair();
  await Promise.all([server.connect(one), client.connect(other)]);
  const inner = one.onmessage!;
  one.onmessage = (message, extra) => {
    const note = CancelledNotificationSchema.safeParse(message);
    if (note.success) cancelled.push(note.data.params.requestId);
    inner(message, extra);
  };
  return { client, server, called, cancelled };
}

const text = (said: string, more: object = {}): object => ({
  content: [{ type: "text", text: said }],
  ...more,
});

async function statuses(turn: Turn, names: readonly string[]): Promise<string[]> {
  const results = await runCalls(
    turn,
    names.map((name) => ({ name, args: {} })),
  );
  return results.map((one) => `${one.status}: ${one.text}`);
}

const hinted: McpTool[] = [
  { name: "read", inputSchema: anyInput, annotations: { readOnlyHint: true } },
  { name: "set", inputSchema: anyInput, annotations: { idempotentHint: true } },
  { name: "send", inputSchema: anyInput, description: "Sends." },
];

describe("mcpTools", () => {
  it("believes hints of a trusted server only, and its user before both", async () => {
    const { client } = await world([hinted.slice(0, 1), hinted.slice(1)], () => text("ok"));
    const effects = async (options: object): Promise<string[]> =>
      (await mcpTools(client, options)).map(({ effect }) => effect);
    expect(await effects({})).toEqual(["irreversible", "irreversible", "irreversible"]);
    expect(await effects({ trust: true })).toEqual(["pure", "idempotent", "irreversible"]);
    const own = { effects: { send: "reversible", read: "idempotent" } };
    expect(await effects({ trust: true, ...own })).toEqual([
      "idempotent",
      "idempotent",
      "reversible",
    ]);
    await expect(effects({ effects: { sent: "pure" } })).rejects.toMatchObject({
      code: "MANX_TOOL_INVALID",
    });
    expect((await mcpTools(client))[2]).toMatchObject({ description: "Sends.", schema: anyInput });
  });

  it("makes names that models take, with a prefix, and refuses those that clash", async () => {
    const tools = ["a.b", "c d", "x".repeat(70)].map((name) => ({ name, inputSchema: anyInput }));
    const { client, called } = await world([tools], () => text("ok"));
    const named = await mcpTools(client, { prefix: "s_" });
    expect(named.map(({ name }) => name)).toEqual(["s_a_b", "s_c_d", `s_${"x".repeat(62)}`]);
    expect(await statuses(new Turn({ tools: named }), ["s_a_b"])).toEqual(["ok: ok"]);
    expect(called[0]!.name).toBe("a.b");
    const clash = await world([[...tools, { name: "a_b", inputSchema: anyInput }]], () => text(""));
    await expect(mcpTools(clash.client)).rejects.toMatchObject({
      code: "MANX_TOOL_INVALID",
      got: '"a.b" and "a_b"',
    });
  });

  it("tells results, errors and bad arguments apart", async () => {
    const typed = { type: "object", properties: { n: { type: "number" } }, required: ["n"] };
    const tools = [
      { name: "good", inputSchema: anyInput },
      { name: "bad", inputSchema: anyInput },
      { name: "mute", inputSchema: anyInput },
      { name: "typed", inputSchema: typed },
    ];
    const { client, called } = await world([tools], (name) => {
      if (name === "good") return text("fine");
      return name === "bad" ? text("no such row", { isError: true }) : { content: [] };
    });
    const turn = new Turn({ tools: await mcpTools(client) });
    expect(await statuses(turn, ["good", "bad", "mute", "typed"])).toEqual([
      "ok: fine",
      "failed: error: no such row",
      "ok: (no result)",
      expect.stringMatching(/^invalid: error: the arguments do not fit: n: /),
    ]);
    expect(called.map(({ name }) => name)).not.toContain("typed");
    expect(called[0]!._meta).not.toHaveProperty("manx/deadline-ms");
  });

  it("passes the deadline on and cancels at it, whatever progress there is", async () => {
    const { client, called, cancelled } = await world(
      [[{ name: "slow", inputSchema: anyInput }]],
      async (_name, { sendNotification, _meta }) => {
        for (let progress = 1; progress < 60; progress += 1) {
          const params = { progressToken: _meta?.progressToken, progress };
          await sendNotification({ method: "notifications/progress", params } as never);
          await new Promise((resolve) => setTimeout(resolve, 50));
        }
        return text("too late");
      },
    );
    // Idle for less than the call takes: progress shows that it lives.
    const tools = await mcpTools(client, { deadline: "1500ms", idle: "700ms" });
    const turn = new Turn({ tools });
    const [only] = await runCalls(turn, [{ name: "slow", args: {} }]);
    expect(only!.status).toBe("timeout");
    expect(only!.times.endedUs - only!.times.startedUs!).toBeGreaterThan(1_000_000);
    const { "manx/deadline-ms": leftMs } = called[0]!._meta!;
    expect(leftMs).toBeLessThanOrEqual(1_500);
    expect(leftMs).toBeGreaterThan(0);
    await turn.close();
    expect(cancelled).toHaveLength(1);
  });

  it("gives a call up that shows no life", async () => {
    const { client, cancelled } = await world([[{ name: "mute", inputSchema: anyInput }]], () => {
      return new Promise(() => {});
    });
    const turn = new Turn({ tools: await mcpTools(client, { idle: "30ms" }) });
    expect(await statuses(turn, ["mute"])).toEqual([expect.stringMatching(/^failed: .*timed out/)]);
    expect(cancelled).toHaveLength(1);
  });

  it("fails its calls, and no more, when the server dies", async () => {
    const { client, server } = await world([[{ name: "die", inputSchema: anyInput }]], async () => {
      await server.close();
      return text("never");
    });
    const tools = await mcpTools(client);
    const turn = new Turn({ tools });
    expect(await statuses(turn, ["die"])).toEqual([
      expect.stringMatching(/^failed: error: .*closed/i),
    ]);
    expect(await statuses(turn, ["die"])).toEqual([expect.stringMatching(/^failed: error: /)]);
    await expect(mcpTools(client)).rejects.toThrow();
  });

  it("refuses a list without an end", async () => {
    const client: McpClient = {
      listTools: async () => ({ tools: [], nextCursor: "again" }),
      callTool: async () => ({}),
    };
    await expect(mcpTools(client)).rejects.toMatchObject({ code: "MANX_TOOL_INVALID" });
  });

  it("leaves a schema that cannot be compiled to the server", async () => {
    const odd = { type: "object", properties: { a: { $ref: "https://example.com/a.json" } } };
    const { client } = await world([[{ name: "odd", inputSchema: odd }]], () => text("ok"));
    const box = new ToolBox(await mcpTools(client));
    await box.warm();
    expect(await statuses(new Turn({ tools: box }), ["odd"])).toEqual(["ok: ok"]);
  });
});

describe("the text of a result", () => {
  it("tells what cannot be read as text", () => {
    const content = [
      { type: "text", text: "a" },
      { type: "image", mimeType: "image/png", data: "AAAA" },
      { type: "resource", resource: { uri: "file:///a", text: "inside" } },
      { type: "resource", resource: { uri: "file:///b", blob: "AA" } },
      { type: "resource_link", uri: "file:///c", name: "c" },
    ];
    expect(contentText({ content })).toBe(
      "a\n[image image/png, 4 characters of base64]\ninside\n[resource: file:///b]\n[c: file:///c]",
    );
    expect(contentText({ content: [], structuredContent: { b: 1, a: 2 } })).toBe('{"a":2,"b":1}');
    expect(contentText(undefined)).toBe("");
  });
});
