import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { gzipSync } from "node:zlib";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { FakeIo } from "../../test/support/fake-io.ts";
import { span } from "../../test/support/span-forest.ts";
import { parseTurn } from "../trace/document/index.ts";
import { type TurnRecord, turnRecord } from "../trace/index.ts";
import { writeOtlp } from "../trace/otlp/index.ts";
import { makeProgram, runProgram } from "./program.ts";

let folder: string;
beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), "manx-trace-command-"));
});
afterAll(() => rmSync(folder, { recursive: true, force: true }));

function turn(name: string, digit: string): TurnRecord {
  return turnRecord({
    traceId: digit.repeat(32),
    startedUnixUs: Date.UTC(2026, 10, 29) * 1_000,
    spans: [
      span("a".repeat(16), null, "turn", 0, 2_000, { name }),
      span("b".repeat(16), "a".repeat(16), "tool-call", 0, 2_000, { name: "search" }),
    ],
  });
}

function saved(name: string, content: string | Buffer): string {
  const path = join(folder, name);
  writeFileSync(path, content);
  return path;
}

async function show(...argv: string[]): Promise<{ exit: number; out: string; err: string }> {
  const io = new FakeIo();
  const exit = await runProgram(makeProgram(io), ["trace", "show", ...argv], io);
  return { exit, out: io.out, err: io.err };
}

describe("manx trace show", () => {
  const one = turn("support", "1");
  const otlp = (turns: readonly TurnRecord[]): string => JSON.stringify(writeOtlp(turns));

  it.each([
    ["a turn document", () => JSON.stringify(one, null, 2)],
    ["documents, one a line", () => `${JSON.stringify(one)}\n\n`],
    ["an OTLP export", () => otlp([one])],
    ["OTLP exports, one a line, gzipped", () => gzipSync(`${otlp([one])}\n`)],
  ])("draws %s", async (_, content) => {
    const { exit, out, err } = await show(saved("turn.json", content()));
    expect([exit, err]).toEqual([0, ""]);
    expect(out).toMatch(/^support: 2.00 ms\n {2}ok, warm, .*trace 1{32}\n/);
    expect(out).toContain("search (tool-call)");
  });

  it("puts together a trace whose spans came in several exports", async () => {
    const { resource, scopeSpans } = writeOtlp([one]).resourceSpans[0]!;
    const lines = scopeSpans[0]!.spans.map((span) =>
      JSON.stringify({ resourceSpans: [{ resource, scopeSpans: [{ spans: [span] }] }] }),
    );
    const { out } = await show(saved("parts.jsonl", lines.toReversed().join("\n")), "--json");
    expect(parseTurn(JSON.parse(out), "out").spans).toHaveLength(2);
  });

  it("shows one of several, and five of many", async () => {
    const file = saved(
      "many.json",
      otlp(["1", "2", "3", "4", "5", "6", "7"].map((id) => turn(`t${id}`, id))),
    );
    const all = await show(file);
    expect(all.out.match(/^t\d: /gm)).toHaveLength(5);
    expect(all.err).toBe("2 more turns; choose one with --turn\n");
    const chosen = await show(file, "--turn", "66");
    expect(chosen.out).toMatch(/^t6: /);
    expect(chosen.out.match(/^t\d: /gm)).toHaveLength(1);
    const documents = (await show(file, "--json")).out.trimEnd().split("\n");
    expect(documents.map((line) => parseTurn(JSON.parse(line), "out").name)).toHaveLength(7);
  });

  it("sets a bad span aside and says why", async () => {
    const request = writeOtlp([one]);
    const [bad] = structuredClone(request.resourceSpans[0]!.scopeSpans[0]!.spans);
    const spans = [...request.resourceSpans[0]!.scopeSpans[0]!.spans, { ...bad, spanId: "x" }];
    const { exit, out, err } = await show(
      saved("bad.json", JSON.stringify({ resourceSpans: [{ scopeSpans: [{ spans }] }] })),
    );
    expect(exit).toBe(0);
    expect(out).toContain("support: 2.00 ms");
    expect(err).toMatch(/resourceSpans\.0\.scopeSpans\.0\.spans\.2: span set aside, the span id/);
  });

  it.each([
    ["no JSON", "hello\n", "MANX_TRACE_FORMAT", /:1\n/],
    ["JSON that is something else", "{}", "MANX_TRACE_FORMAT", /schemaVersion/],
    ["an export without spans", '{"resourceSpans":[]}', "MANX_TRACE_FORMAT", /without a turn/],
  ])("refuses %s", async (_, content, code, message) => {
    const { exit, out, err } = await show(saved("no.json", content));
    expect([exit, out]).toEqual([2, ""]);
    expect(err).toContain(code);
    expect(err).toMatch(message);
  });

  it("refuses a turn that is not there, and names those that are", async () => {
    const { exit, err } = await show(saved("turn.json", otlp([one])), "--turn", "9");
    expect(exit).toBe(2);
    expect(err).toMatch(/MANX_FLAG_VALUE: no turn has this id\n.*--turn\n.*1{32}, got "9"/);
  });
});
