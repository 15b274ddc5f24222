/**
 * Turns recorded with planted times: prefetching, a guardrail beside the model, hedges, tools that begin while the model
 * still writes, and the agent's own glue between them. The phases that come out are those that went in.
 */
import { describe, expect, it } from "vitest";
import { Random, SimClock } from "../../src/clock/index.ts";
import {
  EVENT,
  PHASES,
  type Phase,
  type TurnRecord,
  TurnRecorder,
  turnRecord,
} from "../../src/trace/index.ts";

const MS = 1_000;
const TURNS = 2_000;

interface Planted {
  readonly record: TurnRecord;
  readonly phases: Record<Phase, number>;
  readonly subs: Record<string, number>;
}

/** One turn of one to four steps; every instant of it is put down twice, as spans and as what it counts for. */
class PlantedTurn {
  readonly #random: Random;
  readonly #turn: TurnRecorder;
  readonly #phases = Object.fromEntries(PHASES.map((phase) => [phase, 0])) as Record<Phase, number>;
  readonly #subs: Record<string, number> = {};
  #nowUs = 0;

  constructor(seed: number) {
    this.#random = new Random(seed, "planted-turn");
    this.#turn = new TurnRecorder({ clock: new SimClock(), name: "agent" });
  }

  run(): Planted {
    const assemblyUs = this.#us(30);
    this.#turn.begin("assembly", "prompt", { startUs: 0 }).end("ok", assemblyUs);
    this.#spend("assembly", assemblyUs);
    this.#glue();
    this.#retrieve();
    for (let left = 1 + this.#random.int(4); left > 0; left -= 1) this.#step();
    return {
      record: turnRecord(this.#turn.finish("ok", this.#nowUs)),
      phases: this.#phases,
      subs: this.#subs,
    };
  }

  #us(mostMs: number): number {
    return 2_000 + this.#random.int(mostMs * MS);
  }

  #spend(phase: Phase, us: number, sub?: string): void {
    this.#phases[phase] += us;
    this.#nowUs += us;
    if (sub !== undefined && us > 0) this.#subs[sub] = (this.#subs[sub] ?? 0) + us;
  }

  /** What an agent does between two calls. */
  #glue(): void {
    this.#spend("orchestration", this.#us(20));
  }

  /** One to three queries side by side; the last one is waited for. */
  #retrieve(): void {
    const lengthsUs = Array.from({ length: 1 + this.#random.int(3) }, () => this.#us(400));
    for (const us of lengthsUs) {
      this.#turn.begin("retrieval", "query", { startUs: this.#nowUs }).end("ok", this.#nowUs + us);
    }
    lengthsUs.sort((a, b) => b - a);
    const [last = 0, second = last] = lengthsUs;
    this.#spend("retrieval", second);
    this.#spend("retrieval", last - second, "join-wait");
    this.#glue();
  }

  #step(): void {
    const step = this.#turn.begin("step", "step", { startUs: this.#nowUs });
    const call = step.begin("model-call", "model", { startUs: this.#nowUs });
    const guard = step.begin("guardrail", "input", { startUs: this.#nowUs });
    guard.end("ok", this.#nowUs + 1_000);
    const hedgeUs = this.#random.next() < 0.3 ? this.#us(300) : 0;
    const loser = hedgeUs > 0 ? call.begin("attempt", "a", { startUs: this.#nowUs }) : undefined;
    this.#spend("orchestration", hedgeUs, "retry");
    const attempt = call.begin("attempt", "b", { startUs: this.#nowUs });
    const queueUs = this.#random.next() < 0.5 ? this.#us(200) : 0;
    this.#spend("prefill", queueUs, "queue");
    attempt.event(EVENT.placeGranted, this.#nowUs);
    this.#spend("prefill", this.#us(800));
    attempt.event(EVENT.outputStart, this.#nowUs);
    loser?.end("cancelled", this.#nowUs + 500);
    const eagerAtUs = this.#nowUs + this.#us(200);
    const decodeUs = eagerAtUs - this.#nowUs + this.#us(1_000);
    const modelEndUs = this.#nowUs + decodeUs;
    attempt.event(EVENT.outputEnd, modelEndUs);
    attempt.end("ok", modelEndUs);
    call.end("ok", modelEndUs);
    // One tool begins while the model still writes, another one when it is done; the later end is what is waited for.
    const eagerUs = this.#us(2_000);
    const lastUs = this.#us(1_000);
    step
      .begin("tool-call", "eager", { startUs: eagerAtUs, after: [call] })
      .end("ok", eagerAtUs + eagerUs);
    step
      .begin("tool-call", "last", { startUs: modelEndUs, after: [call] })
      .end("ok", modelEndUs + lastUs);
    const ends = { eager: eagerAtUs + eagerUs, last: modelEndUs + lastUs };
    const isEager = ends.eager > ends.last;
    this.#spend("decode", isEager ? eagerAtUs - this.#nowUs : decodeUs);
    const endUs = Math.max(ends.eager, ends.last);
    // The two overlap unless the eager one had ended before the other one began.
    const joinUs = ends.eager > modelEndUs ? Math.min(ends.eager, ends.last) : endUs;
    this.#spend("tools", joinUs - this.#nowUs);
    this.#spend("tools", endUs - joinUs, "join-wait");
    step.end("ok", endUs);
    this.#glue();
  }
}

describe("planted turns", () => {
  it("come out with the phases and second levels that went in, to the microsecond", () => {
    const wrong: number[] = [];
    for (let seed = 0; seed < TURNS; seed += 1) {
      const { record, phases, subs } = new PlantedTurn(seed).run();
      const seen: Record<string, number> = {};
      for (const { sub, us } of record.subs) seen[sub] = (seen[sub] ?? 0) + us;
      const isSame =
        JSON.stringify(record.phases) === JSON.stringify(phases) &&
        JSON.stringify(Object.entries(seen).sort()) === JSON.stringify(Object.entries(subs).sort());
      if (!isSame || record.findings.length > 0) wrong.push(seed);
    }
    expect(wrong).toEqual([]);
  });
});
