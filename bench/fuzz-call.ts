/**
 * `npm run fuzz:call -- --seeds 100000`: calls in random worlds, in simulated time; every law is checked after every
 * decision. A failure names the seed: `--from SEED --seeds 1` repeats it.
 */
import { parseArgs } from "node:util";
import { playRandomCall } from "../test/support/random-call.ts";

const { values } = parseArgs({
  options: {
    seeds: { type: "string", default: "100000" },
    from: { type: "string", default: "0" },
  },
});
const from = Number(values.from);
const seeds = Number(values.seeds);
for (let seed = from; seed < from + seeds; seed += 1) {
  try {
    playRandomCall(seed);
  } catch (thrown) {
    console.error(`seed ${seed}: ${String(thrown)}`);
    process.exit(1);
  }
}
console.log(`${seeds} calls from seed ${from}: every law held`);
