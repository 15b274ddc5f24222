import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { span, spanForest } from "../../../test/support/span-forest.ts";
import { type Span, type TurnRecord, turnRecord } from "../index.ts";
import { readOtlp, readTurns, SEMCONVS, type Semconv, writeOtlp } from "./index.ts";

const UNIX_US = Date.UTC(2026, 10, 29) * 1_000 + 123;

/** Ids as a recorder makes them. */
function withIds(spans: readonly Span[]): Span[] {
  const hex = (id: string): string => `b7${id.replace(/\D/g, "").padStart(14, "0")}`;
  return spans.map((one) => ({
    ...one,
    id: hex(one.id),
    parentId: one.parentId === null ? null : hex(one.parentId),
    links: one.links.map((link) => ({ ...link, spanId: hex(link.spanId) })),
  }));
}

function record(spans: readonly Span[], more = {}): TurnRecord {
  const traceId = "0af7651916cd43dd8448eb211c80319c";
  const options = { environment: { "service.name": "support" } };
  return turnRecord({ traceId, spans, startedUnixUs: UNIX_US, ...more }, options);
}

function backAndForth(turns: readonly TurnRecord[], options = {}): TurnRecord[] {
  const text = JSON.stringify(writeOtlp(turns, options));
  const { spans, rejected } = readOtlp(JSON.parse(text));
  expect(rejected).toEqual([]);
  return readTurns(spans).map((turn) => turnRecord(turn, { environment: turn.environment }));
}

function attributesOf(turn: TurnRecord, index: number, semconv: Semconv): Record<string, unknown> {
  const spans = writeOtlp([turn], { semconv }).resourceSpans[0]!.scopeSpans[0]!.spans;
  return Object.fromEntries(
    spans[index]!.attributes.map(({ key, value }) => [key, Object.values(value)[0]]),
  );
}

describe("OTLP", () => {
  it("written and read again is the same turn: spans, phases, path", () => {
    fc.assert(
      fc.property(
        spanForest,
        fc.constantFrom(...SEMCONVS),
        fc.boolean(),
        (spans, semconv, dialects) => {
          // Twice: a document has only what hangs on its root.
          const before = record(record(withIds(spans)).spans);
          const [after] = backAndForth([before], { semconv, dialects });
          expect(after!.spans.map(({ attributes: _, ...rest }) => rest)).toEqual(
            before.spans.map(({ attributes: _, ...rest }) => rest),
          );
          const { spans: _a, findings: _b, ...rest } = after!;
          const { spans: _c, findings: _d, ...expected } = before;
          expect(rest).toEqual(expected);
        },
      ),
      { numRuns: 300 },
    );
  });

  it("keeps what it wrote itself to attributes of its own names", () => {
    const spans = [
      span("s1", null, "turn", 0, 900, { name: "support" }),
      span("s2", "s1", "model-call", 0, 500, {
        name: "gpt",
        attributes: {
          "gen_ai.request.model": "gpt-5",
          "gen_ai.usage.input_tokens": 12,
          "gen_ai.request.temperature": 0.5,
          "gen_ai.request.stream": true,
          "gen_ai.response.finish_reasons": ["stop", "length"],
        },
      }),
      span("s3", "s1", "tool-call", 500, 900, { name: "search" }),
    ];
    const [after] = backAndForth([record(withIds(spans))]);
    expect(after!.spans.map(({ attributes }) => attributes)).toEqual([
      { "gen_ai.operation.name": "invoke_agent", "gen_ai.agent.name": "support" },
      { "gen_ai.operation.name": "chat", ...spans[1]!.attributes },
      { "gen_ai.operation.name": "execute_tool", "gen_ai.tool.name": "search" },
    ]);
    expect(backAndForth([after!])).toEqual([after]);
  });

  it("names spans as the conventions do, and says phase, second level and path", () => {
    const turn = record(
      withIds([
        span("s1", null, "turn", 0, 1_000, { name: "support" }),
        span("s2", "s1", "model-call", 0, 600, {
          name: "answer",
          attributes: { "gen_ai.request.model": "gpt-5" },
          events: [{ name: "output-start", atUs: 200 }],
        }),
        span("s3", "s1", "startup", 600, 1_000, { phase: "tools", cold: "deploy" }),
      ]),
    );
    const { resource, scopeSpans } = writeOtlp([turn]).resourceSpans[0]!;
    expect(resource.attributes).toContainEqual({
      key: "service.name",
      value: { stringValue: "support" },
    });
    expect(scopeSpans[0]!.spans.map(({ name, kind }) => [name, kind])).toEqual([
      ["invoke_agent support", 1],
      ["chat gpt-5", 3],
      ["s3", 1],
    ]);
    expect(attributesOf(turn, 0, "latest")).toMatchObject({
      "manx.kind": "turn",
      "manx.phase.prefill_us": "200",
      "manx.phase.decode_us": "400",
      "manx.phase.tools_us": "400",
      "manx.phase.unattributed_us": "0",
    });
    expect(attributesOf(turn, 1, "latest")).toMatchObject({
      "manx.phase": "decode",
      "manx.path_us": "600",
      "gen_ai.response.time_to_first_chunk": 0.0002,
      "ai.response.msToFirstChunk": 0.2,
      "langfuse.observation.completion_start_time": '"2026-11-29T00:00:00.000Z"',
      "openinference.span.kind": "LLM",
    });
    expect(attributesOf(turn, 2, "latest")).toMatchObject({
      "manx.phase": "tools",
      "manx.phase.sub": "cold-start",
      "manx.phase.declared": "tools",
      "manx.cold": "deploy",
    });
    expect(scopeSpans[0]!.spans[1]!.events?.map(({ name }) => name)).toEqual([
      "output-start",
      "First Token Stream Event",
      "gen_ai.content.chunk",
    ]);
  });

  it.each([
    ["latest", ["gen_ai.provider.name", "gen_ai.usage.cache_write.input_tokens"]],
    ["1.41", ["gen_ai.provider.name", "gen_ai.usage.cache_creation.input_tokens"]],
    ["1.36", ["gen_ai.system", "gen_ai.usage.cache_creation.input_tokens"]],
    [
      "both",
      [
        "gen_ai.provider.name",
        "gen_ai.system",
        "gen_ai.usage.cache_write.input_tokens",
        "gen_ai.usage.cache_creation.input_tokens",
      ],
    ],
  ] as const)("has the names of %s", (semconv, names) => {
    const attributes = {
      "gen_ai.provider.name": "openai",
      "gen_ai.usage.cache_write.input_tokens": 5,
    };
    const turn = record([
      span("s1", null, "turn", 0, 10),
      span("s2", "s1", "model-call", 0, 10, { attributes }),
    ]);
    const written = Object.keys(attributesOf(turn, 1, semconv)).filter((name) =>
      /provider|system$|cache/.test(name),
    );
    expect(written).toEqual(names);
    expect(backAndForth([turn], { semconv })[0]!.spans[1]!.attributes).toMatchObject(attributes);
  });

  it("tells a retrieval's top_k from a model's", () => {
    const turn = record([
      span("s1", null, "turn", 0, 10),
      span("s2", "s1", "model-call", 0, 5, { attributes: { "gen_ai.request.top_k": 40 } }),
      span("s3", "s1", "retrieval", 5, 10, { attributes: { "gen_ai.retrieval.top_k": 8 } }),
    ]);
    const [after] = backAndForth([turn], { semconv: "1.41" });
    expect(after!.spans.map(({ attributes }) => attributes)).toMatchObject([
      {},
      { "gen_ai.request.top_k": 40 },
      { "gen_ai.retrieval.top_k": 8 },
    ]);
  });

  it("gives ids of another form a hash, the same each time", () => {
    const spans = [span("root", null, "turn", 0, 10), span("kid", "root", "tool-call", 0, 10)];
    const turn = record(spans, { traceId: "a turn of mine" });
    const [first] = writeOtlp([turn]).resourceSpans[0]!.scopeSpans[0]!.spans;
    expect(first!.traceId).toMatch(/^[0-9a-f]{32}$/);
    const [after] = backAndForth([turn]);
    expect(after!.spans[1]!.parentId).toBe(after!.spans[0]!.id);
    expect(writeOtlp([turn])).toEqual(writeOtlp([turn]));
  });

  it("writes a turn whose start is not known", () => {
    const [after] = backAndForth([
      record([span("s", null, "turn", 0, 10)], { startedUnixUs: null }),
    ]);
    expect(after!.wallUs).toBe(10);
  });
});

/** A foreign span; times in ms. */
function foreign(
  id: number,
  parent: number | null,
  name: string,
  fromMs: number,
  toMs: number,
  attributes: Record<string, string | number> = {},
  more: Record<string, unknown> = {},
): Record<string, unknown> {
  const hex = (one: number): string => one.toString(16).padStart(16, "0");
  const ns = (ms: number): string =>
    (BigInt(1_795_910_400_000) * 1_000_000n + BigInt(ms * 1e6)).toString();
  return {
    traceId: "5b8efff798038103d269b633813fc60c",
    spanId: hex(id),
    ...(parent !== null && { parentSpanId: hex(parent) }),
    name,
    startTimeUnixNano: ns(fromMs),
    endTimeUnixNano: ns(toMs),
    attributes: Object.entries(attributes).map(([key, value]) => ({
      key,
      value: typeof value === "number" ? { doubleValue: value } : { stringValue: value },
    })),
    ...more,
  };
}

function imported(...spans: Record<string, unknown>[]): TurnRecord[] {
  const read = readOtlp({ resourceSpans: [{ scopeSpans: [{ spans }] }] });
  return readTurns(read.spans).map((turn) => turnRecord(turn));
}

describe("spans of others", () => {
  it.each([
    [{ "langfuse.observation.type": "generation" }, "model-call"],
    [{ "openinference.span.kind": "RERANKER" }, "retrieval"],
    [{ "gen_ai.operation.name": "execute_tool" }, "tool-call"],
    [{ "gen_ai.operation.name": "invoke_agent" }, "agent"],
    [{ "traceloop.span.kind": "tool" }, "tool-call"],
    [{ "llm.request.type": "chat" }, "model-call"],
    [{ "ai.operationId": "ai.streamText.doStream" }, "model-call"],
    [{ "operation.name": "ai.toolCall my-function" }, "tool-call"],
    [{ "ai.operationId": "ai.streamText" }, "agent"],
    [{ "ai.operationId": "ai.embedMany.doEmbed" }, "retrieval"],
    [{ "gen_ai.tool.call.id": "c1" }, "tool-call"],
    [{ "gen_ai.request.model": "m" }, "model-call"],
    [{ "db.system": "qdrant" }, "retrieval"],
    [{ "db.system": "postgresql" }, "other"],
    [{ "openinference.span.kind": "toString" }, "other"],
    [{}, "other"],
  ])("with %j are a %s", (attributes, kind) => {
    const [turn] = imported(
      foreign(1, null, "root", 0, 100),
      foreign(2, 1, "work", 0, 100, attributes as Record<string, string>),
    );
    expect(turn!.spans.map((one) => one.kind)).toEqual(["turn", kind]);
  });

  it("below a model call over HTTP are its attempts: a retry that nothing else shows", () => {
    const [turn] = imported(
      foreign(1, null, "stream_retry", 0, 334),
      foreign(2, 1, "chat", 1, 334, { "openinference.span.kind": "LLM" }),
      foreign(3, 2, "POST", 3, 105, {
        "http.request.method": "POST",
        "http.response.status_code": 529,
      }),
      foreign(4, 2, "POST", 259, 334, {
        "http.request.method": "POST",
        "http.response.status_code": 200,
      }),
    );
    const subs = Object.fromEntries(turn!.subs.map(({ sub, us }) => [sub, us / 1_000]));
    expect(subs).toEqual({ queue: 2, retry: 102, "back-off": 154, "not-separable": 75 });
  });

  it("beside a model call over HTTP are its attempts, if it is plain whose", () => {
    const http = { "http.request.method": "POST" };
    const chat = { "gen_ai.operation.name": "chat" };
    const [turn] = imported(
      foreign(1, null, "root", 0, 1_000),
      foreign(2, 1, "chat", 0, 300, chat),
      foreign(3, 1, "POST", 1, 302, http),
      foreign(4, 1, "chat", 400, 700, chat),
      foreign(5, 1, "chat", 400, 800, chat),
      foreign(6, 1, "POST", 410, 690, http),
      foreign(7, 1, "GET", 900, 950, http),
    );
    const kinds = turn!.spans.map(({ id, parentId, kind }) => [Number(id), Number(parentId), kind]);
    expect(kinds).toContainEqual([3, 2, "attempt"]);
    expect(kinds).toContainEqual([6, 1, "other"]);
    expect(kinds).toContainEqual([7, 1, "other"]);
  });

  it("that stand alone are put into a turn of their length", () => {
    const [turn] = imported(foreign(1, null, "chat", 0, 100, { "gen_ai.operation.name": "chat" }));
    expect(turn!.spans.map(({ kind, endUs }) => [kind, endUs])).toEqual([
      ["turn", 100_000],
      ["model-call", 100_000],
    ]);
  });

  it("do not block if they are consumers of a queue", () => {
    const [turn] = imported(
      foreign(1, null, "root", 0, 100),
      foreign(2, 1, "tool", 0, 50, { "gen_ai.tool.name": "t" }),
      foreign(
        3,
        1,
        "index later",
        50,
        400,
        { "gen_ai.tool.name": "t" },
        { kind: "SPAN_KIND_CONSUMER" },
      ),
    );
    expect(turn!.spans.find(({ name }) => name === "index later")!.detached).toBe(true);
    expect(turn!.phases.tools).toBe(50_000);
  });

  it("make one turn for each root, and one for those that go round in a circle", () => {
    const turns = imported(
      foreign(1, null, "first", 200, 300),
      foreign(2, null, "second", 0, 100),
      foreign(3, 2, "child", 0, 50),
      foreign(4, 5, "round", 10, 50),
      foreign(5, 4, "and round", 20, 50),
      foreign(6, 5, "below", 20, 50),
    );
    expect(turns.map(({ name, spans }) => [name, spans.length])).toEqual([
      ["second", 2],
      ["round", 3],
      ["first", 1],
    ]);
    expect(turns.map(({ flags }) => flags.incomplete)).toEqual([false, true, false]);
    expect(turns[1]!.findings.map(({ code }) => code)).toContain("unreachable-span");
  });

  it("may have the id that a made-up root would have", () => {
    const orphan = { ...foreign(1, 2, "orphan", 0, 10), spanId: "f".repeat(16) };
    const [turn] = imported(orphan);
    expect(turn!.spans.map(({ id }) => id)).toEqual([
      "fffffffffffffffe",
      "0000000000000002",
      "ffffffffffffffff",
    ]);
    const under = { ...foreign(1, 2, "under", 0, 10), parentSpanId: "f".repeat(16) };
    expect(imported(under)[0]!.spans.map(({ id }) => id.slice(-2))).toEqual(["fe", "ff", "01"]);
    const alone = {
      ...foreign(1, null, "c", 0, 10, { "gen_ai.request.model": "m" }),
      spanId: "f".repeat(16),
    };
    expect(imported(alone)[0]!.spans).toHaveLength(2);
  });
});

describe("what is no OTLP", () => {
  it.each([
    null,
    7,
    "text",
    [],
    {},
    { resourceSpans: 5 },
    { resourceSpans: [null, { scopeSpans: [7] }] },
  ])("%j gives no span and no error", (value) =>
    expect(readOtlp(value)).toMatchObject({ spans: [], rejectedCount: 0 }),
  );

  it("is never more than an error value, whatever it holds", () => {
    const junk = fc.anything({ withBigInt: false, maxDepth: 4 });
    fc.assert(
      fc.property(
        fc.array(
          fc.record({
            traceId: junk,
            spanId: junk,
            startTimeUnixNano: junk,
            endTimeUnixNano: junk,
            attributes: junk,
            events: junk,
            links: junk,
            status: junk,
            kind: junk,
            name: junk,
          }),
        ),
        junk,
        (spans, resource) => {
          const good = foreign(1, null, "good", 0, 10);
          const mixed = spans.map((one, i) =>
            i % 2 === 0 ? one : { ...good, ...one, spanId: "00000000000000ff" },
          );
          const read = readOtlp({ resourceSpans: [{ resource, scopeSpans: [{ spans: mixed }] }] });
          expect(read.spans.length + read.rejectedCount).toBe(spans.length);
          for (const turn of readTurns(read.spans)) turnRecord(turn);
        },
      ),
      { numRuns: 500 },
    );
  });
});
