/** The code of docs/how-to/warm-up.md runs as it stands there, and its figures are those of the scenario. */
import { mkdtempSync, rmSync } from "node:fs";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { FileStore, warmPool } from "../src/adapters/warm-start/index.ts";
import { realClock } from "../src/clock/index.ts";
import { formatUs } from "../src/core/index.ts";
import * as runtime from "../src/runtime/index.ts";
import { KNOWN_FORMATS } from "../src/runtime/precompile/known-formats.ts";
import { ARRANGEMENTS, runSerialStart, runWarmStart } from "../src/scenario/index.ts";
import { runCode, tsBlocks } from "./support/doc-code.ts";
import { readText } from "./support/source-tree.ts";

const page = readText("docs/how-to/warm-up.md");
const [graph, calls, registry, box, dispatch] = tsBlocks(page);

const server = createServer((_request, response) => response.end("{}"));
let folder: string;
beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), "manx-warm-up-docs-"));
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
});
afterAll(async () => {
  rmSync(folder, { recursive: true, force: true });
  server.closeAllConnections();
  await new Promise((resolve) => server.close(resolve));
});

describe("docs/how-to/warm-up.md", () => {
  it("warms up, is ready, and tells cold calls from warm ones", async () => {
    const rehearsed: unknown[] = [];
    const { warmUp, report, index } = (await runCode(graph!, "{ warmUp, report, index }", {
      ...runtime,
      realClock,
      warmPool,
      modelsUrl: `http://127.0.0.1:${(server.address() as AddressInfo).port}/v1/models`,
      loadConfig: () => ({ at: "here" }),
      openIndex: ({ at }: { at: string }) => ({ at, has: () => true }),
      loadExporter: () => "exporter",
      askSomething: async (_fetch: unknown, headers: object) => rehearsed.push(headers),
    })) as { warmUp: runtime.WarmUp; report: runtime.WarmReport; index: { at: string } };
    expect([report.isReady, index.at]).toEqual([true, "here"]);
    expect(rehearsed).toEqual([{ "x-manx-purpose": "warm-up" }]);
    expect(report.unattributedUs).toBeGreaterThan(0);
    expect(report.items.find(({ name }) => name === "export")?.status).toBe("idle");
    const p99 = await runCode(calls!, "p99", { ...runtime, warmUp, tookUs: 5 });
    expect(p99).toMatchObject({ value: 5, n: 1 });
    warmUp.close();
  });

  it("opens a registry of tools and leaves it in a file", async () => {
    const tool = { name: "search", inputSchema: { type: "object" } };
    const found = (await runCode(registry!, "{ registry, names, schema }", {
      ...runtime,
      FileStore,
      tickets: 1,
      wiki: 2,
      listTools: async () => [tool],
      cacheFolder: folder,
      note: () => undefined,
    })) as { registry: runtime.ToolRegistryCache; names: string[]; schema: object };
    expect([found.names.includes("search"), found.schema]).toEqual([true, { type: "object" }]);
    await expect.poll(() => new FileStore(folder).get("manx-tools")).toContain("search");
    found.registry.close();
  });

  it("rehearses the dispatch of tools", async () => {
    const warmUp = (await runCode(dispatch!, "warmUp", { ...runtime })) as runtime.WarmUp;
    expect((await warmUp.start()).isReady).toBe(true);
    warmUp.close();
  });

  it("makes a tool box with validators", async () => {
    const made = await runCode(box!, "box.fallbacks", {
      ...runtime,
      tools: [runtime.tool({ name: "a", effect: "pure", input: { type: "object" }, run: () => 1 })],
      validators: { format: "manx-validators/1", validators: [] },
      note: () => undefined,
    });
    expect(made).toEqual([{ tool: "a", reason: "missing" }]);
  });

  it("has the figures of the scenario and the formats that are checked", async () => {
    expect(page).toContain(`| – | ${formatUs((await runSerialStart()).firstTokenUs)} | – |`);
    const outcomes = await Promise.all(ARRANGEMENTS.map(runWarmStart));
    const rows = outcomes.map(
      ({ readyUs, ttftUs, report }) =>
        `| ${formatUs(readyUs)} | ${formatUs(ttftUs)} | ${report.criticalPath.join(" → ")} |`,
    );
    for (const row of rows) expect(page).toContain(row);
    expect(page).toContain(
      `(checked are ${Object.keys(KNOWN_FORMATS)
        .map((name) => `\`${name}\``)
        .join(", ")})`,
    );
    for (const temperature of runtime.TEMPERATURES)
      expect(page).toContain(`| \`${temperature}\` |`);
  });
});
