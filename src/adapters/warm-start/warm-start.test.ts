import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { connectionProof, ToolRegistryCache, WarmUp } from "../../runtime/index.ts";
import { FileStore } from "./file-store.ts";
import { warmPool } from "./warm-pool.ts";

let folder: string;
let server: Server;
let url: string;
let sockets = 0;
/** Answers of this server close their connection. */
let closes = false;

beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), "manx-warm-start-"));
  server = createServer((request, response) => {
    if (closes) response.setHeader("connection", "close");
    // Long enough that requests sent together are under way together.
    setTimeout(() => response.end(`${request.method} ${request.headers["x-manx-purpose"]}`), 20);
  });
  server.on("connection", () => {
    sockets += 1;
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/v1/models`;
});
afterAll(async () => {
  rmSync(folder, { recursive: true, force: true });
  server.closeAllConnections();
  await new Promise((resolve) => server.close(resolve));
});

describe("a pool that is warm", () => {
  it("has its connections open before the first call, which opens none", async () => {
    closes = false;
    const pool = warmPool();
    const { fetch, opened } = pool;
    const up = new WarmUp({ items: { llm: connectionProof(fetch, url, { count: 3, opened }) } });
    const { isReady } = await up.start();
    expect(isReady).toBe(true);
    expect(await up.get("llm")).toEqual({ status: 200, opened: 3, reused: 3 });
    const before = sockets;
    const answer = await pool.fetch(url);
    expect(await answer.text()).toBe("GET undefined");
    expect([sockets, opened()]).toEqual([before, 3]);
    up.close();
    await pool.close();
  });

  it("is not said to be warm if the server closes each connection", async () => {
    closes = true;
    const pool = warmPool();
    const item = connectionProof(pool.fetch, url, { opened: pool.opened });
    const up = new WarmUp({ items: { llm: item }, attempts: 1 });
    const { isReady, items } = await up.start();
    expect(isReady).toBe(false);
    expect(items[0]?.error).toContain("connections that were opened are not used again");
    up.close();
    await pool.close();
  });

  it("is refused with what cannot be", () => {
    expect(() => warmPool({ connections: 0 })).toThrow(
      expect.objectContaining({ code: "MANX_WARM_UP_INVALID" }),
    );
    for (const wrong of ["120", -1, Number.NaN, Number.POSITIVE_INFINITY, 1.5]) {
      for (const options of [{ keepAlive: wrong }, { connect: wrong }]) {
        expect(() => warmPool(options)).toThrow(expect.objectContaining({ code: "MANX_DURATION" }));
      }
    }
  });

  it("that keeps no connection is one all the same", async () => {
    const pool = warmPool({ keepAlive: "0s" });
    expect(await (await pool.fetch(url)).text()).toBe("GET undefined");
    await pool.close();
  });
});

describe("a store of files", () => {
  it("gives back what was put, and leaves nothing half-written beside it", async () => {
    const store = new FileStore(join(folder, "a", "b"));
    expect(await store.get("tools")).toBeUndefined();
    await Promise.all([store.put("tools", "one"), store.put("other", "two")]);
    await store.put("tools", "three");
    expect(await store.get("tools")).toBe("three");
    expect(readdirSync(join(folder, "a", "b")).sort()).toEqual(["other.json", "tools.json"]);
  });

  it("sets a damaged file aside, from which a registry recovers", async () => {
    const own = join(folder, "damaged");
    const store = new FileStore(own);
    await store.put("manx-tools", "{}");
    writeFileSync(join(own, "manx-tools.json"), '{"schemaVersion":1,"servers":{"s":');
    const list = async () => [{ name: "a", inputSchema: {} }];
    const registry = await ToolRegistryCache.open({ servers: { s: { list } }, store });
    expect(registry.has("a")).toBe(true);
    registry.close();
    expect(readFileSync(join(own, "manx-tools.json.corrupt"), "utf8")).toMatch(/"s":$/);
    await expect.poll(() => store.get("manx-tools")).toContain('"name":"a"');
  });

  it("refuses keys that lead elsewhere, and says where it cannot write or read", async () => {
    const store = new FileStore(folder);
    for (const key of ["../x", "a/b", "", ".hidden"]) {
      await expect(store.get(key)).rejects.toMatchObject({ code: "MANX_WARM_UP_INVALID" });
    }
    writeFileSync(join(folder, "file"), "");
    const nowhere = new FileStore(join(folder, "file"));
    await expect(nowhere.put("x", "y")).rejects.toMatchObject({ code: "MANX_OUTPUT_UNWRITABLE" });
    await expect(nowhere.get("x")).rejects.toMatchObject({ code: "MANX_FILE_UNREADABLE" });
    await store.setAside("never-was");
  });
});
