import { EventEmitter } from "node:events";
import type { ServerResponse } from "node:http";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { SimClock } from "../clock/index.ts";
import type { DeliveryFault } from "./fault.ts";
import { FaultScript } from "./fault-script.ts";
import { FaultedOutlet } from "./faulted-outlet.ts";

/** A response that writes down what it is made to say and when, and lets nothing through while it is clogged. */
class Paper extends EventEmitter {
  writableNeedDrain = false;
  readonly said: string[] = [];
  readonly socket = {
    destroySoon: () => this.note("fin"),
    resetAndDestroy: () => this.note("rst"),
  };
  readonly clock = new SimClock();
  note(text: string): void {
    this.said.push(`${text}@${this.clock.nowUs()}`);
  }
  end(): void {
    this.note("closed");
  }
}

function makeWorld(fault: DeliveryFault) {
  const paper = new Paper();
  let strikes = 0;
  const outlet = new FaultedOutlet({
    response: paper as unknown as ServerResponse,
    clock: paper.clock,
    script: new FaultScript(fault),
    outlet: {
      head: () => paper.note("head"),
      chunk: (index) => paper.note(String(index)),
      end: () => paper.note("end"),
      spoil: () => paper.note("spoilt"),
      ping: () => paper.note("ping"),
      fail: (status) => paper.note(String(status)),
    },
    onStrike: () => {
      strikes += 1;
    },
  });
  /** `chunks` chunks, one every 10 µs from the first on, the last of them with the end. */
  const run = (chunks: number, untilUs = 1_000): string => {
    outlet.open();
    for (let i = 1; i <= chunks; i += 1) {
      paper.clock.at(i * 10, () => {
        outlet.grow(i);
        if (i === chunks) outlet.complete();
      });
    }
    paper.clock.runSync(untilUs);
    return paper.said.join(" ");
  };
  return { paper, outlet, run, strikes: () => strikes };
}

const pingUs = undefined;

describe("FaultedOutlet", () => {
  it.each<[DeliveryFault, string]>([
    [{ kind: "stall", after: 2, forUs: 25, pingUs }, "head@0 0@10 1@20 2@45 3@45 end@45"],
    [{ kind: "stall", after: 0, forUs: 15, pingUs }, "head@0 0@15 1@20 2@30 3@40 end@40"],
    [
      { kind: "stall", after: 3, forUs: 35, pingUs: 10 },
      "head@0 0@10 1@20 2@30 ping@40 ping@50 ping@60 3@65 end@65",
    ],
    [{ kind: "stall", after: 1, forUs: Infinity, pingUs }, "head@0 0@10"],
    [{ kind: "slow-headers", forUs: 22 }, "head@22 0@22 1@22 2@30 3@40 end@40"],
    [{ kind: "slow-drip", after: 1, gapUs: 30, pingUs }, "head@0 0@10 1@40 2@70 3@100 end@130"],
    [{ kind: "slow-drip", after: 0, gapUs: 4, pingUs }, "head@0 0@10 1@20 2@30 3@40 end@44"],
    [{ kind: "cut", after: 2, how: "fin" }, "head@0 0@10 1@20 fin@20"],
    [{ kind: "cut", after: 0, how: "rst" }, "head@0 rst@0"],
    [{ kind: "cut", after: 4, how: "end" }, "head@0 0@10 1@20 2@30 3@40 closed@40"],
    [{ kind: "error-in-stream", after: 1, status: 529 }, "head@0 0@10 529@10"],
    [{ kind: "malformed-frame", after: 2 }, "head@0 0@10 1@20 spoilt@20 2@30 3@40 end@40"],
  ])("%j of four chunks: %s", (fault, said) => {
    const { run, strikes } = makeWorld(fault);
    expect(run(4)).toBe(said);
    expect(strikes()).toBe(1);
  });

  it("does not happen in an answer that ends before it", () => {
    const { run, strikes } = makeWorld({ kind: "stall", after: 5, forUs: 9, pingUs });
    expect(run(4)).toBe("head@0 0@10 1@20 2@30 3@40 end@40");
    expect(strikes()).toBe(0);
  });

  it("lets go of its timers when the client leaves", () => {
    const { paper, run } = makeWorld({ kind: "stall", after: 1, forUs: Infinity, pingUs: 7 });
    paper.clock.at(30, () => paper.emit("close"));
    expect(run(4)).toBe("head@0 0@10 ping@17 ping@24");
    paper.clock.runSync();
    expect(paper.clock.pending).toBe(0);
  });

  it("goes on after a wait at the pace of the reader", () => {
    const { paper, outlet, run } = makeWorld({ kind: "stall", after: 1, forUs: 60, pingUs });
    const { note } = paper;
    paper.note = (text) => {
      note.call(paper, text);
      paper.writableNeedDrain = text === "2";
    };
    paper.clock.at(90, () => {
      paper.writableNeedDrain = false;
      paper.emit("drain");
    });
    expect(run(4)).toBe("head@0 0@10 1@70 2@70 3@90 end@90");
    outlet.grow(9);
    expect(paper.said).toHaveLength(6);
  });

  it("sends each chunk once, in order, and ends once, whatever the fault and the pace", () => {
    const at = fc.nat({ max: 12 });
    const us = fc.integer({ min: 1, max: 60 });
    const faults: fc.Arbitrary<DeliveryFault> = fc.oneof(
      fc.record({
        kind: fc.constant("stall"),
        after: at,
        forUs: us,
        pingUs: fc.option(us, { nil: undefined }),
      }),
      fc.record({
        kind: fc.constant("slow-drip"),
        after: at,
        gapUs: us,
        pingUs: fc.option(us, { nil: undefined }),
      }),
      fc.record({ kind: fc.constant("slow-headers"), forUs: us }),
      fc.record({ kind: fc.constant("malformed-frame"), after: at }),
    );
    fc.assert(
      fc.property(faults, fc.integer({ min: 1, max: 10 }), (fault, chunks) => {
        const { run, paper } = makeWorld(fault);
        run(chunks, 5_000);
        const said = paper.said.map((one) => one.split("@")[0]!);
        const asked = said.filter((one) => !/^(ping|spoilt)$/.test(one));
        expect(asked).toEqual([
          "head",
          ...Array.from({ length: chunks }, (_, i) => String(i)),
          "end",
        ]);
        expect(paper.clock.pending).toBe(0);
      }),
    );
  });
});
