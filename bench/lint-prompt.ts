/**
 * The linter against planted changes: does it predict what a simulated provider says, and does it name cause, field and byte?
 *
 *     npm run bench:lint-prompt [-- --requests 10000] [-- --seed 0]
 */
import { parseArgs } from "node:util";
import { scoreMutation } from "../test/support/prompt-mutations.ts";

const { values } = parseArgs({
  options: {
    requests: { type: "string", default: "10000" },
    seed: { type: "string", default: "0" },
  },
});
const requests = Number(values.requests);
const first = Number(values.seed);

const start = process.hrtime.bigint();
const counts = { reason: 0, cause: 0, field: 0, byte: 0, all: 0 };
const shown = new Map<string, string>();
for (let seed = first; seed < first + requests; seed += 1) {
  const { mutation, wrong } = scoreMutation(seed);
  for (const name of ["reason", "cause", "field"] as const) {
    if (!wrong.some((one) => one.startsWith(name))) counts[name] += 1;
  }
  if (!wrong.some((one) => /^(?:byte|place)/.test(one))) counts.byte += 1;
  if (wrong.length === 0) counts.all += 1;
  else if (!shown.has(mutation)) shown.set(mutation, `seed ${seed}: ${wrong.join("; ")}`);
}
const tookS = Number(process.hrtime.bigint() - start) / 1e9;
const share = (right: number): string => `${((right / requests) * 100).toFixed(2)} %`;

console.log(`${requests} mutated requests, right:`);
console.log(`  provider's reason  ${share(counts.reason)}  (goal: 99 %)`);
console.log(`  cause              ${share(counts.cause)}`);
console.log(`  field              ${share(counts.field)}`);
console.log(`  byte and column    ${share(counts.byte)}`);
console.log(`  all of it          ${share(counts.all)}`);
for (const [mutation, text] of shown) console.log(`  ${mutation}: ${text}`);
console.log(`${((tookS / requests) * 1e6).toFixed(0)} µs a request`);
process.exitCode = counts.reason / requests >= 0.99 ? 0 : 1;
