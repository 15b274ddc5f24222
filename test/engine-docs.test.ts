/** What the engine's pages say is what the code does: tables are fresh, and every example is read by what reads it. */
import { readFileSync } from "node:fs";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { ENGINE_TABLES, withTable } from "../scripts/engine-tables.ts";
import { readConfig } from "../src/config/index.ts";
import { isManxError, renderError } from "../src/core/index.ts";
import { parseFault, parseFaultHeader } from "../src/engine-server/fault-schema.ts";
import { engineSchema, engineSetup } from "../src/engine-server/index.ts";

const PAGES = Object.keys(ENGINE_TABLES);

let folder = "";
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "manx-docs-"));
});
afterAll(() => rm(folder, { recursive: true }));

/** Code blocks of a page in one language. */
function blocks(page: string, language: string): string[] {
  const text = readFileSync(page, "utf8");
  const found = text.matchAll(new RegExp(`^\`\`\`${language}\\n([\\s\\S]*?)^\`\`\``, "gm"));
  return [...found].map(([, code]) => code!);
}

async function setupOf(text: string) {
  const path = join(folder, "manx.config.jsonc");
  await writeFile(path, text);
  return await engineSetup(await readConfig(path, { section: "engine", schema: engineSchema }));
}

describe.each(PAGES)("%s", (page) => {
  it("has the table that the code makes (else: npm run docs)", () => {
    const text = readFileSync(page, "utf8");
    expect(withTable(text, ENGINE_TABLES[page]!())).toBe(text);
  });

  it("shows configurations that can be", async () => {
    const configs = blocks(page, "jsonc");
    expect(configs.length).toBeGreaterThan(0);
    for (const config of configs) expect(await setupOf(config)).toHaveProperty("server.config");
  });
});

describe("docs/how-to/engine-faults.md", () => {
  it("shows faults that are understood", () => {
    const headers = blocks("docs/how-to/engine-faults.md", "text")
      .flatMap((block) => block.split("\n"))
      .filter((line) => line !== "");
    const kinds = headers.map((line) => parseFaultHeader(line.replace("x-manx-fault: ", "")).kind);
    expect(kinds).toEqual(["stall", "cut", "429", "model-change"]);
    const [body] = blocks("docs/how-to/engine-faults.md", "json");
    expect(parseFault(JSON.parse(body!).manx.fault, "manx.fault").kind).toBe("stall");
  });
});

describe("docs/how-to/engine.md", () => {
  it("shows the error that a model too large really gives", async () => {
    const [shown] = blocks("docs/how-to/engine.md", "text");
    const thrown = await setupOf('{"engine": {"model": "llama-3.1-70b"}}').catch((error) => error);
    expect(isManxError(thrown) && renderError(thrown)).toBe(shown!.trim());
  });
});
