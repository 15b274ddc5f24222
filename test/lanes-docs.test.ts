/** The configuration that docs/how-to/lanes-and-limits.md begins with is valid and means what the page says. */
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { readGatewayConfig } from "../src/gateway/config/index.ts";
import { Admission, REFUSAL_REASONS } from "../src/policy/index.ts";
import { readText } from "./support/source-tree.ts";

const page = readText("docs/how-to/lanes-and-limits.md");

let folder = "";
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "manx-docs-"));
});
afterAll(() => rm(folder, { recursive: true }));

describe("docs/how-to/lanes-and-limits.md", () => {
  it("has an example that the gateway takes, without a warning", async () => {
    const path = join(folder, "lanes.jsonc");
    await writeFile(path, /```jsonc\n([\s\S]*?)```/.exec(page)![1]!);
    const { config, notices } = await readGatewayConfig(path);
    expect(notices.map(({ error }) => error.message)).toEqual([]);
    const { lanes } = new Admission(config.admission!).snapshot(0);
    expect(lanes.map(({ name, guaranteed }) => [name, guaranteed])).toEqual([
      ["short", 32],
      ["long", 7],
    ]);
  });

  it("names every reason for a refusal", () => {
    for (const reason of REFUSAL_REASONS) expect(page).toContain(`\`${reason}\``);
  });
});
