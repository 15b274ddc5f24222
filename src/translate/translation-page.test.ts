/** Each row of the tables in docs/how-to/translation.md is what happens. */
import { readFileSync } from "node:fs";
import { describe, expect, it } from "vitest";
import type { StreamFormat } from "../stream/index.ts";
import { translateRequest } from "./translate-request.ts";

const PAGE = readFileSync(new URL("../../docs/how-to/translation.md", import.meta.url), "utf8");

const TABLES: ReadonlyArray<readonly [string, StreamFormat, StreamFormat, object]> = [
  [
    "Chat completions to messages",
    "openai-chat",
    "anthropic-messages",
    { model: "m", messages: [{ role: "user", content: "U" }] },
  ],
  [
    "Messages to chat completions",
    "anthropic-messages",
    "openai-chat",
    { model: "m", max_tokens: 9, messages: [{ role: "user", content: "U" }] },
  ],
  ["Responses", "openai-responses", "anthropic-messages", { model: "m", input: "U" }],
];

/** The parts in code marks of the two cells of each row, and the second cell as prose. */
function rowsOf(heading: string): [string, string, string][] {
  const section = PAGE.split(`## ${heading}\n`)[1]!.split("\n## ")[0]!;
  return section
    .split("\n")
    .filter((line) => line.startsWith("| `"))
    .map((line) => {
      const [, sent = "", got = ""] = line.split(/ ?\| ?/);
      const fragment = /`(\{.*\})`/.exec(got)?.[1] ?? "{}";
      return [/`(.*)`/.exec(sent)![1]!, fragment, got];
    });
}

describe.each(TABLES)("%s", (heading, from, to, base) => {
  const rows = rowsOf(heading);

  it("has rows", () => {
    expect(rows.length).toBeGreaterThan(10);
  });

  it.each(rows)("%s", (sent, fragment, outcome) => {
    const body = { ...base, ...(JSON.parse(sent) as object) };
    if (outcome === "refused") {
      expect(() => translateRequest(body, from, to)).toThrow(
        expect.objectContaining({ code: "MANX_TRANSLATE_FIELD" }),
      );
      return;
    }
    const { body: out, notes } = translateRequest(body, from, to);
    expect(out).toMatchObject(JSON.parse(fragment) as object);
    const noted = notes.map(({ action, field }) => `${action} ${field}`);
    const told = [...outcome.matchAll(/(dropped|changed|added) `([^`]+)`/g)].map(
      ([, action, field]) => `${action} ${field}`,
    );
    // A limit is added to each request that has none; its own row says so.
    const isTold = (note: string): boolean => note !== "added max_tokens" || told.includes(note);
    expect(noted.filter(isTold).sort()).toEqual(told.sort());
  });
});
