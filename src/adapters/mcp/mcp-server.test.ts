/** Servers of the official MCP SDK in a registry, over its own transport. */
import { Client } from "@modelcontextprotocol/sdk/client/index.js";
import { InMemoryTransport } from "@modelcontextprotocol/sdk/inMemory.js";
import { Server } from "@modelcontextprotocol/sdk/server/index.js";
import {
  ListToolsRequestSchema,
  ToolListChangedNotificationSchema,
} from "@modelcontextprotocol/sdk/types.js";
import { describe, expect, it } from "vitest";
import { type Deadline, ToolRegistryCache } from "../../runtime/index.ts";
import { mcpServer } from "./index.ts";
import type { McpClient } from "./mcp-client.ts";

type Lister = Pick<McpClient, "listTools">;

/** A server whose list is two pages, and how to change it. */
function world() {
  let names = ["a", "b"];
  let connects = 0;
  const servers: Server[] = [];
  const connect = async (): Promise<Client> => {
    connects += 1;
    const capabilities = { tools: { listChanged: true } };
    const server = new Server({ name: "s", version: "1" }, { capabilities });
    server.setRequestHandler(ListToolsRequestSchema, ({ params }) => {
      const at = Number(params?.cursor ?? 0);
      const tools = names
        .slice(at, at + 1)
        .map((name) => ({ name, inputSchema: { type: "object" as const } }));
      return { tools, ...(at + 1 < names.length && { nextCursor: String(at + 1) }) };
    });
    const client = new Client({ name: "c", version: "1" });
    const [one, other] = InMemoryTransport.createLinkedPair();
    await Promise.all([server.connect(one), client.connect(other)]);
    servers.push(server);
    return client;
  };
  const change = async (...all: string[]): Promise<void> => {
    names = all;
    await servers.at(-1)!.sendToolListChanged();
  };
  return { connect, change, servers, connects: () => connects };
}

describe("an MCP server in a registry", () => {
  it("lists all pages, and again when it says that its list has changed", async () => {
    const { connect, change, connects } = world();
    const server = mcpServer(connect, {
      prefix: "s_",
      onChanged: (client, changed) => {
        const sdk = client as Client;
        sdk.setNotificationHandler(ToolListChangedNotificationSchema, changed);
        return () => sdk.removeNotificationHandler("notifications/tools/list_changed");
      },
    });
    const registry = await ToolRegistryCache.open({ servers: { server } });
    expect(registry.tools.map(({ name }) => name)).toEqual(["s_a", "s_b"]);
    expect(registry.schema("s_a")).toEqual({ type: "object" });
    await change("b", "c");
    await expect.poll(() => registry.tools.map(({ name }) => name)).toEqual(["s_b", "s_c"]);
    expect(connects()).toBe(1);
    registry.close();
  });

  it("that dies keeps its tools, and is connected anew", async () => {
    const { connect, servers, connects } = world();
    const registry = await ToolRegistryCache.open({ servers: { server: mcpServer(connect) } });
    await servers[0]!.close();
    await expect(registry.refresh("server")).rejects.toMatchObject({ code: "MANX_NOT_WARM" });
    expect(registry.tools).toHaveLength(2);
    expect(registry.report().items[0]?.status).toBe("stale");
    await registry.refresh("server");
    expect([registry.report().items[0]?.status, connects()]).toEqual(["ready", 2]);
    registry.close();
  });

  it("cannot be listed if what it has changed cannot be heard", async () => {
    const connect = async (): Promise<Lister> => ({ listTools: async () => ({ tools: [] }) });
    const onChanged = (): never => {
      throw new Error("no such notification");
    };
    const server = mcpServer(connect, { onChanged });
    server.onChanged!(() => {});
    const { signal } = new AbortController();
    await expect(server.list({ signal } as Deadline)).rejects.toThrow("no such notification");
  });

  it("has each client that failed given back, also one that comes too late, and makes one at a time", async () => {
    const given: unknown[] = [];
    const comes: ((client: Lister) => void)[] = [];
    const connect = () => new Promise<Lister>((resolve) => void comes.push(resolve));
    const disconnect = (client: unknown) => void given.push(client);
    const { list } = mcpServer(connect, { disconnect });
    const within = (signal: AbortSignal) => list({ signal } as Deadline);
    const [good, broken, late] = [
      { listTools: async () => ({ tools: [] }) },
      { listTools: () => Promise.reject(new Error("broken")) },
      { listTools: async () => ({ tools: [] }) },
    ];
    const gone = new AbortController();
    const first = within(gone.signal);
    gone.abort(new Error("too slow"));
    await expect(first).rejects.toThrow("too slow");
    const { signal } = new AbortController();
    const [second, third] = [within(signal), within(signal)];
    expect(comes).toHaveLength(2);
    comes[1]!(broken);
    await expect(second).rejects.toThrow("broken");
    await expect(third).rejects.toThrow("broken");
    comes[0]!(late);
    const fourth = within(signal);
    comes[2]!(good);
    expect(await fourth).toEqual([]);
    expect(await within(signal)).toEqual([]);
    expect(given).toEqual([broken, late]);
    expect(comes).toHaveLength(3);
  });
});
