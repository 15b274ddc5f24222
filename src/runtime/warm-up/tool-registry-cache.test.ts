import { describe, expect, it } from "vitest";
import { SimClock } from "../../clock/index.ts";
import type { Deadline } from "../deadline.ts";
import type { ServerTool } from "./listed-tool.ts";
import type { RegistryStore } from "./registry-store.ts";
import {
  type RegistryUpdate,
  ToolRegistryCache,
  type ToolRegistryOptions,
  type ToolServer,
} from "./tool-registry-cache.ts";

const MS = 1_000;

function tool(name: string, description = "", more: object = {}): ServerTool {
  return { name, description, inputSchema: { type: "object", ...more } };
}

function memoryStore(files = new Map<string, string>()) {
  const store: RegistryStore = {
    get: async (key) => files.get(key),
    put: async (key, text) => void files.set(key, text),
    setAside: async (key) => {
      files.set(`${key}.aside`, files.get(key)!);
      files.delete(key);
    },
  };
  return { files, store };
}

function world(options: Partial<ToolRegistryOptions> = {}) {
  const clock = new SimClock();
  const updates: RegistryUpdate[] = [];
  const lists: string[] = [];
  const server = (
    name: string,
    ms: number,
    tools: () => readonly ServerTool[],
    more: Partial<ToolServer> = {},
  ): ToolServer => ({
    list: async ({ signal }: Deadline) => {
      lists.push(`${name} ${clock.nowUs() / MS}`);
      await clock.sleepUntil(clock.nowUs() + ms * MS, signal);
      return tools();
    },
    ...more,
  });
  const open = async (servers: Record<string, ToolServer>, runMs = 0) => {
    const opening = ToolRegistryCache.open({
      servers,
      clock,
      onUpdate: (update) => updates.push(update),
      ...options,
    });
    opening.catch(() => {});
    await clock.run(clock.nowUs() + runMs * MS);
    return opening;
  };
  return { clock, updates, lists, server, open };
}

const refused = (): never => {
  throw new Error("connection refused");
};

describe("a registry of tools", () => {
  it("asks all servers side by side, and is there with the last one that is needed", async () => {
    const { lists, updates, clock, server, open } = world();
    const registry = await open(
      {
        fast: server("fast", 200, () => [tool("a")]),
        slow: server("slow", 500, () => [tool("b"), tool("c")]),
        dead: server("dead", 100, refused, { optional: true }),
        late: server("late", 5_000, () => [tool("d")], { optional: true }),
        hung: { list: () => new Promise(() => {}), optional: true, within: "1s" },
      },
      500,
    );
    expect(lists).toEqual(["fast 0", "slow 0", "dead 0", "late 0", "dead 350"]);
    expect(registry.tools.map(({ name, server }) => `${server}/${name}`)).toEqual([
      "fast/a",
      "slow/b",
      "slow/c",
    ]);
    const dead = registry.report().items.find(({ name }) => name === "dead");
    expect(dead).toMatchObject({ status: "failed", attempts: 2, error: "connection refused" });
    await clock.run(5_100 * MS);
    expect(registry.has("d")).toBe(true);
    expect(updates).toEqual([{ added: ["d"], removed: [], changed: [] }]);
    registry.close();
  });

  it("is refused without a server that is needed, which is named", async () => {
    const { server, open } = world();
    const servers = { fine: server("fine", 1, () => []), dead: server("dead", 10, refused) };
    await expect(open(servers, 50)).rejects.toMatchObject({
      code: "MANX_NOT_WARM",
      where: 'server "dead"',
      got: "connection refused",
    });
  });

  it("names both servers of a clash, which a prefix resolves", async () => {
    const { server, open } = world();
    const two = (prefix?: string) => ({
      one: server("one", 1, () => [tool("search")]),
      other: server("other", 1, () => [tool("search")], prefix === undefined ? {} : { prefix }),
    });
    await expect(open(two(), 5)).rejects.toMatchObject({
      code: "MANX_TOOL_INVALID",
      where: 'tool "search"',
      got: 'from "one" and from "other"',
    });
    const registry = await open(two("other_"), 5);
    expect(registry.tools.map(({ name, serverName }) => [name, serverName])).toEqual([
      ["search", "search"],
      ["other_search", "search"],
    ]);
    registry.close();
  });

  it("sets aside what is no tool, and counts it", async () => {
    const { server, open } = world();
    const odd = [null, {}, { name: "" }, { name: "x" }, { name: "x", inputSchema: [] }];
    const huge = tool("huge", "", { description: "x".repeat(1_000_001) });
    const list = () => [...odd, tool("a"), tool("a", "again"), huge] as readonly ServerTool[];
    const registry = await open({ odd: server("odd", 1, list) }, 5);
    expect(registry.tools.map(({ name, description }) => [name, description])).toEqual([["a", ""]]);
    expect(registry.report().setAside).toBe(7);
    registry.close();
    const none = { none: server("none", 1, () => ({ tools: [] }) as never) };
    await expect(open(none, 5)).rejects.toMatchObject({ code: "MANX_NOT_WARM" });
  });

  it("parses a schema when it is asked for, once", async () => {
    const { server, open } = world();
    const registry = await open({ s: server("s", 1, () => [tool("a", "", { title: "A" })]) }, 5);
    expect(registry.schema("a")).toEqual({ type: "object", title: "A" });
    expect(registry.schema("a")).toBe(registry.schema("a"));
    expect(registry.schema("b")).toBeUndefined();
    registry.close();
  });

  it("sees that a list has changed, also while it is being listed", async () => {
    const { clock, updates, lists, server, open } = world();
    let tools = [tool("a"), tool("b", "old")];
    let changed: () => void = () => {};
    let stopped = 0;
    const onChanged = (run: () => void) => {
      changed = run;
      return () => {
        stopped += 1;
      };
    };
    const registry = await open({ s: server("s", 10, () => tools, { onChanged }) }, 20);
    tools = [tool("b", "new"), tool("c")];
    changed();
    await clock.run(clock.nowUs() + 5 * MS);
    changed();
    tools = [tool("b", "new"), tool("d")];
    await clock.run(clock.nowUs() + 50 * MS);
    expect(lists).toEqual(["s 0", "s 20", "s 30"]);
    expect(registry.tools.map(({ name }) => name)).toEqual(["b", "d"]);
    expect(updates[0]).toEqual({ added: ["d"], removed: ["a"], changed: ["b"] });
    registry.close();
    expect(stopped).toBe(1);
  });

  it("keeps the set that it has if a new list clashes, and says so", async () => {
    const { clock, updates, server, open } = world({ refreshEvery: "1s" });
    let tools = [tool("b")];
    const registry = await open(
      { one: server("one", 1, () => [tool("a")]), other: server("other", 1, () => tools) },
      5,
    );
    tools = [tool("a")];
    await clock.run(1_500 * MS);
    expect(registry.tools.map(({ name }) => name)).toEqual(["a", "b"]);
    expect(updates[0]?.error?.code).toBe("MANX_TOOL_INVALID");
    expect(registry.report().refused).toBe(updates.at(-1)?.error);
    registry.close();
  });
});

describe("a registry with a store", () => {
  it("serves the last listing at once, refreshes behind it, and keeps it while a server is down", async () => {
    const { store } = memoryStore();
    const first = world({ store });
    const made = await first.open(
      {
        up: first.server("up", 500, () => [tool("a")]),
        down: first.server("down", 500, () => [tool("b", "", { title: "B" })]),
      },
      600,
    );
    made.close();
    const second = world({ store });
    const registry = await second.open({
      up: second.server("up", 500, () => [tool("a"), tool("new")]),
      down: second.server("down", 10, refused),
    });
    // Nothing has answered yet.
    expect(registry.tools.map(({ name }) => name)).toEqual(["a", "b"]);
    expect(registry.schema("b")).toEqual({ type: "object", title: "B" });
    await second.clock.run(3_600_000 * MS);
    expect(registry.tools.map(({ name }) => name)).toEqual(["a", "new", "b"]);
    const { items } = registry.report();
    expect(items.map(({ status, error }) => [status, error])).toEqual([
      ["ready", null],
      ["stale", "connection refused"],
    ]);
    registry.close();
  });

  it("asks anew where a server has another version", async () => {
    const { store } = memoryStore();
    const one = world({ store });
    const servers = (w: typeof one, version: string) => ({
      s: w.server("s", 100, () => [tool(version)], { version }),
    });
    (await one.open(servers(one, "v1"), 200)).close();
    const two = world({ store });
    const registry = await two.open(servers(two, "v2"), 200);
    expect(registry.tools.map(({ name }) => name)).toEqual(["v2"]);
    registry.close();
  });

  it.each([
    ["cut off", '{"schemaVersion":1,"serv'],
    ["of another version", '{"schemaVersion":9,"servers":{}}'],
    ["something else", '"text"'],
    ["null", "null"],
  ])("sets a document aside that is %s, and asks the servers", async (_, text) => {
    const { files, store } = memoryStore(new Map([["manx-tools", text]]));
    const { server, open } = world({ store });
    const registry = await open({ s: server("s", 10, () => [tool("a")]) }, 20);
    expect(registry.has("a")).toBe(true);
    expect(files.get("manx-tools.aside")).toBe(text);
    expect(files.get("manx-tools")).toContain('"schemaVersion":1');
    expect(registry.report().storeErrors).toBe(1);
    registry.close();
  });

  it("takes only tools from it, and does not die of a store that does not work", async () => {
    const stored = { schemaVersion: 1, servers: { s: { version: "", tools: [{ name: 5 }] } } };
    const { store } = memoryStore(new Map([["manx-tools", JSON.stringify(stored)]]));
    const odd = world({ store });
    const registry = await odd.open({ s: odd.server("s", 10, () => [tool("a")]) }, 20);
    expect(registry.tools.map(({ name }) => name)).toEqual(["a"]);
    registry.close();
    const broken: RegistryStore = { get: refused, put: refused };
    const none = world({ store: broken });
    const other = await none.open({ s: none.server("s", 10, () => [tool("a")]) }, 20);
    expect(other.has("a")).toBe(true);
    expect(other.report().storeErrors).toBe(2);
    other.close();
  });
});
