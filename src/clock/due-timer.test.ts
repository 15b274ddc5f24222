import { connect, createServer } from "node:net";
import { describe, expect, it } from "vitest";
import type { Clock } from "./clock.ts";
import { DueTimer } from "./due-timer.ts";
import { realClock } from "./real-clock.ts";
import { SimClock } from "./sim-clock.ts";

describe("a due timer", () => {
  it("fires at the earliest of its instants, once, and not after it was stopped", () => {
    const clock = new SimClock();
    const firedUs: number[] = [];
    const timer = new DueTimer(clock, () => firedUs.push(clock.nowUs()));
    timer.arm(500);
    timer.arm(900);
    timer.arm(300);
    clock.runSync(1_000);
    timer.arm(1_500);
    timer.stop();
    clock.runSync(2_000);
    expect(firedUs).toEqual([300]);
  });

  it("lets what has come in be read first where this process was busy", async () => {
    const server = createServer((socket) => socket.end("x"));
    await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
    const socket = connect((server.address() as { port: number }).port, "127.0.0.1");
    const seen: string[] = [];
    const done = new Promise<void>((resolve) => {
      const timer = new DueTimer(realClock, () => {
        seen.push("due");
        resolve();
      });
      socket.once("connect", () => {
        timer.arm(realClock.nowUs() + 5_000);
        // Busy until long after the instant; the byte has come meanwhile.
        setImmediate(() => {
          const untilUs = realClock.nowUs() + 60_000;
          while (realClock.nowUs() < untilUs);
        });
      });
    });
    socket.on("data", () => seen.push("byte"));
    await done;
    expect(seen).toEqual(["byte", "due"]);
    socket.destroy();
    await new Promise((resolve) => server.close(resolve));
  });

  it("is put off by no more than that one turn", () => {
    let nowUs = 0;
    const due: (() => void)[] = [];
    const clock = { nowUs: () => nowUs, at: (_: number, run: () => void) => void due.push(run) };
    let fired = 0;
    const timer = new DueTimer(clock as unknown as Clock, () => {
      fired += 1;
    });
    timer.arm(100);
    nowUs = 5_000_000;
    due.shift()!();
    expect(fired).toBe(0);
    nowUs = 9_000_000;
    due.shift()!();
    expect([fired, due.length]).toEqual([1, 0]);
  });
});
