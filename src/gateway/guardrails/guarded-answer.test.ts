/** What stands between a call and its caller, in simulated time: ends, deadlines, and faults of its own. */
import { describe, expect, it } from "vitest";
import { SimClock } from "../../clock/index.ts";
import { type CallFailure, GUARD_WINDOW, plainFailure, type Verdict } from "../../policy/index.ts";
import { findRoute } from "../routes.ts";
import type { Checker } from "./checker.ts";
import { GuardedAnswer, type GuardedSide } from "./guarded-answer.ts";

const MS = 1_000;
const NO_FACTS = { fault: undefined, inBand: undefined, refused: undefined };

interface Options {
  readonly afterUs?: number;
  readonly verdict?: Verdict;
  readonly stage?: "request" | "output";
  readonly side?: Partial<GuardedSide>;
  readonly deadlineUs?: number;
}

function guarded({ afterUs = 0, verdict = "clean", stage = "output", ...more }: Options = {}) {
  const clock = new SimClock();
  const seen: string[] = [];
  let given = 0;
  const checker: Checker = {
    check: (_text, _caller, done) => {
      if (afterUs === 0) done(verdict);
      else clock.at(clock.nowUs() + afterUs, () => done(verdict));
      return () => {
        given += 1;
      };
    },
  };
  const note = (what: string) => (): void => void seen.push(`${what} ${clock.nowUs() / MS}`);
  const side: GuardedSide = {
    ...{ onBegin: note("begin"), onSent: note("sent"), onFirstHead: note("first head") },
    ...{ onContent: note("content"), onFirstOutput: note("output"), onHead: note("head") },
    ...{ onFailure: note("failure"), onEnd: note("end"), onRefused: note("refused") },
    ...{ cut: note("cut"), onBytes: (part) => note(part.toString())() },
    ...more.side,
  };
  const rule = {
    name: "r",
    stage,
    budgetUs: 300 * MS,
    onFailure: "closed",
    when: "always",
  } as const;
  const answer = new GuardedAnswer(
    {
      plan: { policy: { ...GUARD_WINDOW, rules: [rule] }, checkers: [checker], scope: "new" },
      route: findRoute("POST", "/v1/chat/completions"),
      caller: { credentials: [], hidesKey: false },
      clock,
      requestText: () => "hello",
      onResult: () => undefined,
    },
    side,
  );
  answer.begin(more.deadlineUs ?? Number.POSITIVE_INFINITY);
  return { clock, seen, answer, cancelled: () => given };
}

const json = ["content-type", "application/json"];
const body = Buffer.from('{"choices":[{"message":{"content":"Hi"}}]}');
const failure = (kind: "cut" | "deadline"): CallFailure => ({
  ...plainFailure("cut"),
  ...{ kind, attempt: 0, isAfterContent: true },
});

describe("an answer that is checked", () => {
  it("goes out with its head when its verdict is there", () => {
    const { clock, seen, answer } = guarded({ afterUs: 40 * MS });
    answer.onHead(200, json, false);
    answer.onBytes(body);
    answer.onEnd("complete", undefined);
    expect(seen).toEqual([]);
    clock.runSync(1_000 * MS);
    expect(seen).toEqual(["head 40", `${body} 40`, "end 40"]);
    expect(answer.tax).toEqual({ path: "clean", firstHeldUs: 40 * MS, lastHeldUs: 40 * MS });
  });

  it("without anything in it ends all the same", () => {
    const { seen, answer } = guarded({ stage: "request" });
    answer.onHead(204, [], false);
    answer.onEnd("unknown", undefined);
    expect(seen).toEqual(["head 0", "end 0"]);
  });

  it("waits for no verdict beyond the deadline", () => {
    const { clock, seen, answer, cancelled } = guarded({
      ...{ afterUs: 200 * MS, deadlineUs: 50 * MS },
    });
    answer.onHead(200, json, false);
    answer.onBytes(body);
    answer.onEnd("complete", undefined);
    clock.runSync(1_000 * MS);
    expect(seen).toEqual(["failure 50"]);
    expect(cancelled()).toBe(1);
  });

  it("that fails before a head is told at once, and so is the deadline after it", () => {
    const early = guarded({ afterUs: 200 * MS, stage: "request" });
    early.answer.onFailure(failure("cut"), NO_FACTS);
    early.clock.runSync(1_000 * MS);
    expect([early.seen, early.cancelled()]).toEqual([["failure 0"], 1]);
    const late = guarded({ afterUs: 200 * MS });
    late.answer.onHead(200, ["content-type", "text/event-stream"], true);
    late.answer.onBytes(Buffer.from('data: {"choices":[{"delta":{"content":"Hi"}}]}\n\n'));
    late.answer.onFailure(failure("deadline"), NO_FACTS);
    expect(late.seen).toEqual(["failure 0"]);
  });

  it("whose caller has left asks nobody any more", () => {
    const { clock, seen, answer, cancelled } = guarded({ afterUs: 200 * MS });
    answer.onHead(200, json, false);
    answer.onBytes(body);
    answer.onEnd("complete", undefined);
    answer.stop();
    clock.runSync(1_000 * MS);
    expect([seen, cancelled()]).toEqual([[], 1]);
  });

  it("ends with an error, and throws at nobody, if what is behind it throws", () => {
    for (const afterUs of [0, 40 * MS]) {
      const onHead = (): void => {
        throw new Error("an invalid header");
      };
      const { clock, seen, answer } = guarded({ afterUs, side: { onHead } });
      answer.onHead(200, json, false);
      answer.onBytes(body);
      answer.onEnd("complete", undefined);
      clock.runSync(1_000 * MS);
      expect(seen).toEqual([`cut ${afterUs / MS}`]);
    }
  });
});
