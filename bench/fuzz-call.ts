/**
 * `npm run fuzz:call -- --seeds 100000`: calls in random worlds, in simulated time; every law is checked after every
 * decision. With `--routes` each seed is a route with dozens of calls at once. A failure names the seed:
 * `--from SEED --seeds 1` repeats it.
 */
import { parseArgs } from "node:util";
import { playRandomCall } from "../test/support/random-call.ts";
import { playRandomRoute } from "../test/support/random-route.ts";

const { values } = parseArgs({
  options: {
    seeds: { type: "string", default: "100000" },
    from: { type: "string", default: "0" },
    routes: { type: "boolean", default: false },
  },
});
const from = Number(values.from);
const seeds = Number(values.seeds);
const play = values.routes ? playRandomRoute : playRandomCall;
for (let seed = from; seed < from + seeds; seed += 1) {
  try {
    play(seed);
  } catch (thrown) {
    console.error(`seed ${seed}: ${String(thrown)}`);
    process.exit(1);
  }
}
console.log(`${seeds} ${values.routes ? "routes" : "calls"} from seed ${from}: every law held`);
