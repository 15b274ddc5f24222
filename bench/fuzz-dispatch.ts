/**
 * Streams with tool calls on four wires, cut anywhere, in reads of any size: nothing that cannot be taken back may begin
 * before its message is whole, what began early is undone if the message was not, and a whole one runs each call once.
 *
 *     npm run fuzz:dispatch [-- --streams 100000] [-- --seed 0]
 */
import { parseArgs } from "node:util";
import { truncationProblem } from "../test/support/truncated-streams.ts";

const { values } = parseArgs({
  options: {
    streams: { type: "string", default: "100000" },
    seed: { type: "string", default: "0" },
  },
});
const streams = Number(values.streams);
const first = Number(values.seed);

const start = process.hrtime.bigint();
for (let seed = first; seed < first + streams; seed += 1) {
  const problem = truncationProblem(seed);
  if (problem === null) continue;
  console.error(`seed ${seed}: ${problem}`);
  console.error(`again: npm run fuzz:dispatch -- --streams 1 --seed ${seed}`);
  process.exit(1);
}
const tookS = Number(process.hrtime.bigint() - start) / 1e9;
console.log(`${streams} streams cut anywhere: no call began too early, in ${tookS.toFixed(1)} s`);
