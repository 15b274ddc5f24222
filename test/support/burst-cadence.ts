/** Bursts of eight tokens each 400 ms through a playout: the table of docs/how-to/playout.md. */
import { SimClock } from "../../src/clock/index.ts";
import { playout } from "../../src/runtime/index.ts";
import { timedSource } from "./rail-world.ts";

const BURST_MS = 400;
const BURSTS = 50;
const WORDS = "what eight tokens say, about forty chars";

/** @returns a line per bound. */
export async function burstCadence(): Promise<string> {
  const lines = ["delayMax   worst gap   added delay p50      p99        n   first"];
  for (const delayMs of [0, 100, 200, 300, 400]) {
    const clock = new SimClock();
    const bursts = Array.from({ length: BURSTS }, (_, i) => [i * BURST_MS, WORDS] as const);
    const played = playout(timedSource(clock, bursts), { clock, delayMax: `${delayMs}ms` });
    const times: number[] = [];
    const read = (async () => {
      for await (const _ of played) times.push(clock.nowUs());
    })();
    await clock.run();
    await read;
    // The first two bursts teach the cadence.
    const later = times.filter((atUs) => atUs >= 2 * BURST_MS * 1_000);
    const worstUs = Math.max(...later.slice(1).map((atUs, i) => atUs - later[i]!));
    const { addedDelay, firstAddedUs } = played.report();
    const cells = [
      ms(delayMs * 1_000, 8),
      ms(worstUs, 12),
      ms(addedDelay.p50.value, 18),
      ms(addedDelay.p99.value, 9),
      String(addedDelay.p99.n).padStart(9),
      ms(firstAddedUs ?? 0, 8),
    ];
    lines.push(cells.join(""));
  }
  return lines.join("\n");
}

function ms(us: number, width: number): string {
  return `${Math.round(us / 1_000)} ms`.padStart(width);
}
