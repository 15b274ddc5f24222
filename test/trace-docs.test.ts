/** The code of docs/how-to/attribution.md runs as it stands there, and its tables name what there is. */
import { describe, expect, it } from "vitest";
import { realClock } from "../src/clock/index.ts";
import * as runtime from "../src/runtime/index.ts";
import * as trace from "../src/trace/index.ts";
import * as otlp from "../src/trace/otlp/index.ts";
import { runCode, tsBlocks } from "./support/doc-code.ts";
import { readText } from "./support/source-tree.ts";

const page = readText("docs/how-to/attribution.md");
const [recording, inTheRuntime, exporting] = tsBlocks(page);

async function record(): Promise<trace.TurnRecord> {
  async function* callModel(): AsyncGenerator<string> {
    yield "a";
    yield "b";
  }
  const printed: unknown[] = [];
  const made = await runCode(recording!, "record", {
    ...trace,
    realClock,
    question: "where is my parcel?",
    search: async () => ["doc"],
    callModel,
    show: () => undefined,
    lookup: async () => "there",
    console: { log: (...all: unknown[]) => printed.push(...all) },
  });
  expect(printed).toHaveLength(2);
  return made as trace.TurnRecord;
}

describe("docs/how-to/attribution.md", () => {
  it("records a turn whose phases sum to its wall time", async () => {
    const { phases, wallUs, spans, environment } = await record();
    expect(trace.PHASES.reduce((sum, phase) => sum + phases[phase], 0)).toBe(wallUs);
    expect(spans.map(({ kind }) => kind).sort()).toEqual([
      "model-call",
      "retrieval",
      "step",
      "tool-call",
      "turn",
    ]);
    expect(environment["service.name"]).toBe("support");
  });

  it("records a turn of the runtime", async () => {
    const names = { ...trace, ...runtime, realClock };
    const { spans, wallUs, phases } = (await runCode(
      inTheRuntime!,
      "record",
      names,
    )) as trace.TurnRecord;
    expect(spans.map(({ kind }) => kind)).toEqual(["turn", "assembly", "step", "model-call"]);
    expect(trace.PHASES.reduce((sum, phase) => sum + phases[phase], 0)).toBe(wallUs);
  });

  it("exports it and reads it again", async () => {
    const made = await record();
    const names = { ...otlp, turnRecord: trace.turnRecord, record: made };
    const [again] = (await runCode(exporting!, "turns", names)) as trace.TurnRecord[];
    expect(again!.phases).toEqual(made.phases);
    expect(again!.path).toEqual(made.path);
  });

  it("names every second level, the limits and the generations of names", () => {
    const stubs = ["dropped", "missing-parent"];
    for (const sub of trace.PHASE_SUBS.filter((one) => !stubs.includes(one))) {
      expect(page, sub).toContain(sub);
    }
    for (const limit of [trace.TURN_LIMITS.spansMax, trace.TURN_LIMITS.textCharsMax]) {
      expect(page).toContain(limit.toLocaleString("en-US"));
    }
    for (const name of otlp.SEMCONVS) expect(page, name).toContain(name);
  });
});
