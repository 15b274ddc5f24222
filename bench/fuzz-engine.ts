/**
 * Schedules under abuse, many seeds. Run: npm run fuzz:engine -- [--seeds 10000] [--from 0] [--only chunked]
 * A failure prints the one command that repeats it, and exits with 1.
 */
import { parseArgs } from "node:util";
import { abuse, SUBJECTS } from "../test/support/schedule-fuzz.ts";

const { values } = parseArgs({
  options: {
    seeds: { type: "string", default: "10000" },
    from: { type: "string", default: "0" },
    only: { type: "string" },
  },
});
const from = Number(values.from);
const until = from + Number(values.seeds);
const subjects = values.only === undefined ? Object.keys(SUBJECTS) : [values.only];

for (const subject of subjects) {
  const sum = { finished: 0, aborted: 0, preemptions: 0, swaps: 0, steps: 0 };
  for (let seed = from; seed < until; seed += 1) {
    try {
      const outcome = abuse(subject, seed, 60);
      sum.finished += outcome.finished;
      sum.aborted += outcome.aborted;
      sum.preemptions += outcome.preemptions;
      sum.swaps += outcome.swaps;
      sum.steps += outcome.steps;
    } catch (thrown) {
      console.error(
        `${subject}, seed ${seed}: ${thrown instanceof Error ? thrown.message : thrown}`,
      );
      console.error(`repeat: npm run fuzz:engine -- --only "${subject}" --from ${seed} --seeds 1`);
      process.exit(1);
    }
  }
  console.log(
    `${subject.padEnd(22)} ${until - from} seeds: ${sum.finished} finished, ${sum.aborted} aborted, ` +
      `${sum.preemptions} pre-emptions (${sum.swaps} swaps), ${sum.steps} steps, every invariant held`,
  );
}
