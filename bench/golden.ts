/**
 * The golden scenarios of docs/how-to/golden-scenarios.md with more turns: five steps, five branches, streaming tools.
 *
 *     npm run bench:golden [-- --turns 10000]
 */
import { parseArgs } from "node:util";
import {
  composedTail,
  fanOutAdvice,
  fanOutTable,
  fanOutTails,
  stepCures,
  stepTable,
  streamingTable,
  streamingWays,
} from "../src/scenario/index.ts";

const { values } = parseArgs({ options: { turns: { type: "string", default: "5000" } } });
const turns = Number(values.turns);

const { tail, naive, buys } = composedTail(20 * turns, 1);
const seconds = (us: number): string => `${(us / 1e6).toFixed(2)} s`;
const [p50, p95, p99] = [tail.p50, tail.p95, tail.p99].map(({ value }) => seconds(value));
console.log(`composed: p50 ${p50}, p95 ${p95}, p99 ${p99}, n ${20 * turns}`);
console.log(`added up: ${seconds(naive.medianUs)} and ${seconds(naive.p99Us)}`);
const bought = buys.map(({ step, p99FallsUs }) => `${step} ${seconds(p99FallsUs)}`);
console.log(`p99 falls, a step held to its own p95: ${bought.join(", ")}\n`);
console.log(stepTable(await stepCures(turns, 1)));
console.log(`\n${fanOutTable(await fanOutTails(turns, 1))}`);
const { verdict, reasons } = fanOutAdvice(turns, 1);
console.log([verdict, ...reasons].join("\n"));
console.log(`\n${streamingTable(await streamingWays(turns, 1))}`);
