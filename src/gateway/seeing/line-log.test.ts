import { mkdtemp, readFile, rename, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import fc from "fast-check";
import { describe, expect, it, onTestFinished } from "vitest";
import { realClock, SimClock } from "../../clock/index.ts";
import type { ManxError } from "../../core/index.ts";
import { type LineCounts, LineLog } from "./line-log.ts";
import { fileTarget, type LogTarget } from "./log-target.ts";

class FakeDisk {
  text = "";
  opened = 0;
  /** What is left of it; a write takes at most that much, and none fails. */
  room = Number.POSITIVE_INFINITY;
  readonly target: LogTarget = {
    where: "disk",
    open: async () => {
      this.opened += 1;
      return { write: async (bytes) => this.#write(bytes), close: async () => undefined };
    },
  };

  #write(bytes: Buffer): number {
    if (this.room === 0) throw Object.assign(new Error("no space"), { code: "ENOSPC" });
    const taken = Math.min(bytes.length, this.room);
    this.room -= taken;
    this.text += bytes.toString("utf8", 0, taken);
    return taken;
  }
}

function logTo(target: LogTarget, clock = new SimClock()) {
  const faults: ManxError[] = [];
  const counts: LineCounts = { written: 0, dropped: 0 };
  const onFault = (error: ManxError): unknown => faults.push(error);
  return { log: new LineLog({ target, clock, counts, onFault }), counts, faults, clock };
}

/** Takes all at once, and notes when. */
class Ledger {
  readonly writes: { readonly atUs: number; readonly lines: readonly string[] }[] = [];
  readonly target: LogTarget;

  constructor(clock: SimClock) {
    this.target = {
      where: "ledger",
      open: async () => ({
        write: async (bytes) => {
          const lines = bytes.toString().split("\n").slice(0, -1);
          this.writes.push({ atUs: clock.nowUs(), lines });
          return bytes.length;
        },
        close: async () => undefined,
      }),
    };
  }
}

describe("LineLog gathers", () => {
  it("no line for longer than 100 ms, and none beyond 64 KB", async () => {
    const afterUs = fc.oneof(fc.nat(150_000), fc.nat(5_000));
    const line = fc.record({ afterUs, chars: fc.nat(30_000) });
    const run = async (plan: readonly { afterUs: number; chars: number }[]): Promise<void> => {
      const clock = new SimClock();
      const ledger = new Ledger(clock);
      const { log, counts } = logTo(ledger.target, clock);
      const given: { readonly text: string; readonly atUs: number }[] = [];
      for (const { afterUs, chars } of plan) {
        await clock.run(clock.nowUs() + afterUs);
        given.push({ text: `${given.length}`.padEnd(chars, "."), atUs: clock.nowUs() });
        log.write(given.at(-1)!.text);
      }
      await clock.run();
      const written = ledger.writes.flatMap(({ lines }) => lines);
      expect(written).toEqual(given.map(({ text }) => text));
      expect(counts).toEqual({ written: plan.length, dropped: 0 });
      let at = 0;
      for (const { atUs, lines } of ledger.writes) {
        const [first, last] = [given[at]!, given[at + lines.length - 1]!];
        const chars = lines.reduce((sum, text) => sum + text.length, 0);
        const isFull = chars >= 64 * 1024;
        // When the first of them has waited for its time, or the last has made them enough.
        expect(atUs).toBe(isFull ? last.atUs : first.atUs + 100_000);
        expect(chars - lines.at(-1)!.length).toBeLessThan(64 * 1024);
        at += lines.length;
      }
      // No timer is left that still had something to do.
      expect(clock.nowUs()).toBe(ledger.writes.at(-1)!.atUs);
    };
    await fc.assert(fc.asyncProperty(fc.array(line, { minLength: 1, maxLength: 30 }), run), {
      numRuns: 50,
    });
  });

  it("what comes while a write takes its time, for the write right after it", async () => {
    const clock = new SimClock();
    const atUs: number[] = [];
    const slow: LogTarget = {
      where: "disk",
      open: async () => ({
        write: async (bytes) => {
          atUs.push(clock.nowUs());
          await clock.sleepUntil(clock.nowUs() + 250_000);
          return bytes.length;
        },
        close: async () => undefined,
      }),
    };
    const { log, counts } = logTo(slow, clock);
    log.write("a");
    await clock.run(120_000);
    log.write("b");
    // Longer than its time, but the write before it ends only now.
    await clock.run(350_000);
    log.write("c");
    await clock.run();
    expect(atUs).toEqual([100_000, 350_000, 600_000]);
    expect(counts.written).toBe(3);
  });

  it("until it closes, and then writes at once what waits", async () => {
    const clock = new SimClock();
    const ledger = new Ledger(clock);
    const { log } = logTo(ledger.target, clock);
    await clock.run(7_000);
    log.write("a");
    const closed = log.close();
    await clock.run(7_000);
    await closed;
    expect(ledger.writes).toEqual([{ atUs: 7_000, lines: ["a"] }]);
  });
});

describe("LineLog", () => {
  it("writes lines whole and in order, those of one turn at once", async () => {
    const disk = new FakeDisk();
    const { log, counts, clock } = logTo(disk.target);
    for (const line of ["a", "b", "c"]) log.write(line);
    await clock.run();
    log.write("d");
    await clock.run();
    expect(disk.text).toBe("a\nb\nc\nd\n");
    expect(counts).toEqual({ written: 4, dropped: 0 });
    expect(disk.opened).toBe(1);
  });

  it("drops and counts what a full disk does not take, says so once, and goes on when there is room", async () => {
    const disk = new FakeDisk();
    disk.room = 3;
    const { log, counts, faults, clock } = logTo(disk.target);
    log.write("first");
    await clock.run();
    for (let i = 0; i < 3; i += 1) {
      log.write("lost");
      await clock.run(clock.nowUs() + 2_000_000);
    }
    expect(faults.map(({ code }) => code)).toEqual(["MANX_LOG_UNWRITABLE"]);
    expect(faults[0]!.got).toBe("ENOSPC");
    disk.room = 1_000;
    log.write("back");
    await clock.run(clock.nowUs() + 2_000_000);
    // The line that broke off stays alone on its line.
    expect(disk.text).toBe("fir\nback\n");
    expect(counts).toEqual({ written: 1, dropped: 4 });
    disk.room = 0;
    log.write("again");
    await clock.run(clock.nowUs() + 2_000_000);
    expect(faults).toHaveLength(2);
  });

  it("holds a bounded number of lines while the disk does not answer", async () => {
    const stuck: LogTarget = { where: "disk", open: () => new Promise(() => undefined) };
    const { log, counts, clock } = logTo(stuck);
    for (let i = 0; i < 30_000; i += 1) log.write(`line ${i}`);
    // 500 are with the disk, and 20,000 wait.
    expect(counts).toEqual({ written: 0, dropped: 9_500 });
    const closed = log.close();
    await clock.run();
    await closed;
  });

  it("waits for a pipe that is full for now", async () => {
    let calls = 0;
    let text = "";
    const pipe: LogTarget = {
      where: "stdout",
      open: async () => ({
        write: async (bytes) => {
          calls += 1;
          if (calls < 3) throw Object.assign(new Error("full"), { code: "EAGAIN" });
          text += bytes.toString();
          return bytes.length;
        },
        close: async () => undefined,
      }),
    };
    const { log, counts, faults, clock } = logTo(pipe);
    log.write("a");
    await clock.run();
    expect([text, counts.dropped, faults]).toEqual(["a\n", 0, []]);
  });

  it("follows a rotation, and writes what waits before it closes", async () => {
    const folder = await mkdtemp(join(tmpdir(), "manx-log-"));
    onTestFinished(() => rm(folder, { recursive: true }));
    const path = join(folder, "access.jsonl");
    const counts: LineCounts = { written: 0, dropped: 0 };
    const onFault = (error: ManxError): void => expect.unreachable(error.message);
    const log = new LineLog({ target: fileTarget(path), clock: realClock, counts, onFault });
    log.write("old");
    while (counts.written < 1) await realClock.sleepUntil(realClock.nowUs() + 1_000);
    await rename(path, `${path}.1`);
    log.reopen();
    log.write("new");
    await log.close();
    expect(await readFile(`${path}.1`, "utf8")).toBe("old\n");
    expect(await readFile(path, "utf8")).toBe("new\n");
  });
});
