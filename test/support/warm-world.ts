/** A start in simulated time: items that take the seconds that they are told, and a log of when each began. */
import { SimClock } from "../../src/clock/index.ts";
import { type WarmItem, WarmUp, type WarmUpOptions } from "../../src/runtime/index.ts";

const S = 1_000_000;

export function warmWorld(options: { startUs?: number } = {}) {
  const clock = new SimClock(options.startUs ?? 0);
  const log: string[] = [];
  /** Takes `s` seconds, then answers its name, or fails as long as `fails` says. */
  const item = (
    name: string,
    s: number,
    more: Partial<WarmItem> & { fails?: (run: number) => boolean } = {},
  ): WarmItem => {
    let runs = 0;
    const { fails = () => false, ...rest } = more;
    return {
      run: async (_inputs, { signal }) => {
        runs += 1;
        const run = runs;
        log.push(`${name} ${clock.nowUs() / S}`);
        await clock.sleepUntil(clock.nowUs() + s * S, signal);
        if (fails(run)) throw new Error(`${name} is down`);
        return `${name} ${run}`;
      },
      proof: "run",
      ...rest,
    };
  };
  const warmUp = (items: Record<string, WarmItem>, more: Partial<WarmUpOptions> = {}) =>
    new WarmUp({ items, clock, ...more });
  return { clock, log, item, warmUp };
}
