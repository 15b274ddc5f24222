/** What docs/how-to/running-the-gateway.md shows as configuration is one, without a warning. */
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { readGatewayConfig } from "../src/gateway/config/index.ts";
import { readText } from "./support/source-tree.ts";

const page = readText("docs/how-to/running-the-gateway.md");
const examples = [...page.matchAll(/```jsonc\n([\s\S]*?)```/g)].map(([, text]) => text!);

let folder = "";
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "manx-docs-"));
});
afterAll(() => rm(folder, { recursive: true }));

describe("docs/how-to/running-the-gateway.md", () => {
  it("has examples that the gateway takes, without a warning", async () => {
    const path = join(folder, "example.jsonc");
    expect(examples).toHaveLength(2);
    for (const example of examples) {
      await writeFile(path, example);
      const { config, notices } = await readGatewayConfig(path);
      expect(notices.map(({ error }) => error.message)).toEqual([]);
      expect(config.state !== null || config.admin !== null).toBe(true);
    }
  });
});
