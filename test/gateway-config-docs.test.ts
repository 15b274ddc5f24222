/** The examples of docs/how-to/gateway-config.md are valid, and the one that says "everything" is complete. */
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { fileJsonSchema } from "../src/cli/config-sections.ts";
import { ConfigFile } from "../src/config/config-file.ts";
import { readGatewayConfig } from "../src/gateway/config/index.ts";
import { readText } from "./support/source-tree.ts";

const page = readText("docs/how-to/gateway-config.md");
const examples = [...page.matchAll(/```jsonc\n([\s\S]*?)```/g)].map(([, text]) => text!);

type Schema = Readonly<Record<string, unknown>>;

let folder = "";
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "manx-docs-"));
});
afterAll(() => rm(folder, { recursive: true }));

/** All names of keys in a schema, at any depth, but for those of a part that `skip` names. */
function keysOf(schema: unknown, skip: readonly string[] = []): Set<string> {
  const found = new Set<string>();
  const visit = (node: unknown): void => {
    if (typeof node !== "object" || node === null) return;
    const { properties, additionalProperties, items, anyOf, oneOf } = node as Schema;
    for (const [name, one] of Object.entries((properties ?? {}) as Schema)) {
      found.add(name);
      if (!skip.includes(name)) visit(one);
    }
    visit(additionalProperties);
    visit(items);
    for (const list of [anyOf, oneOf]) if (Array.isArray(list)) list.forEach(visit);
  };
  visit(schema);
  return found;
}

function namesIn(value: unknown): Set<string> {
  if (Array.isArray(value)) return new Set(value.flatMap((one) => [...namesIn(one)]));
  if (typeof value !== "object" || value === null) return new Set();
  return new Set(Object.entries(value).flatMap(([name, one]) => [name, ...namesIn(one)]));
}

describe("docs/how-to/gateway-config.md", () => {
  it("has examples that the gateway takes, without a warning", async () => {
    expect(examples).toHaveLength(2);
    for (const [index, text] of examples.entries()) {
      const path = join(folder, `${index}.jsonc`);
      await writeFile(path, text);
      const { notices } = await readGatewayConfig(path);
      expect(notices.map(({ error }) => error.message)).toEqual([]);
    }
  });

  it("stands beside pages whose examples the gateway takes too", async () => {
    for (const name of [
      "deadlines-retries-hedges",
      "lanes-and-limits",
      "guardrails",
      "cache-marks",
    ]) {
      const text = /```jsonc\n([\s\S]*?)```/.exec(readText(`docs/how-to/${name}.md`))?.[1];
      const path = join(folder, `${name}.jsonc`);
      await writeFile(path, text!);
      const { notices } = await readGatewayConfig(path);
      expect(notices.map(({ error }) => error.message)).toEqual([]);
    }
  });

  it("shows every key that there is", async () => {
    const schema = await fileJsonSchema();
    const { gateway } = schema.properties as Schema;
    // Keys are described where they are made: manx gateway key create.
    const known = keysOf(gateway, ["keys"]);
    const shown = namesIn(new ConfigFile("docs", examples.at(-1)!).value);
    expect([...known].filter((name) => !shown.has(name))).toEqual([]);
    expect(known.size).toBeGreaterThan(80);
  });

  it("says of defaults what they are", async () => {
    const path = join(folder, "defaults.jsonc");
    await writeFile(
      path,
      '{"gateway": {"upstreams": [{"name": "a", "url": "http://127.0.0.1:1"}]}}',
    );
    const defaults = (await readGatewayConfig(path)).config;
    await writeFile(path, examples.at(-1)!);
    const shown = (await readGatewayConfig(path)).config;
    expect(shown.policies.default).toEqual(defaults.policies.default);
    expect(shown.limits).toEqual(defaults.limits);
    expect(shown.listen).toEqual(defaults.listen);
    const { preconnect, connections, idleUs, http2, tls, canPrefill, router } =
      defaults.upstreams[0]!;
    expect(shown.upstreams[0]).toMatchObject({
      preconnect,
      connections,
      idleUs,
      http2,
      tls,
      canPrefill,
      router,
    });
  });
});
