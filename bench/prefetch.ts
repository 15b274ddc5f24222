/**
 * Calls that begin while the model thinks, through the runtime in simulated time: turns of five steps with one call each, whose
 * next call is planted with a known share α. Without prefetching, with it on the same draws, and what the formula of
 * arXiv 2512.15834 says for these times: α·max(G, T) + (1 − α)(G + T) a call.
 *
 * A hit saves min(G, T) of G + T, so no prefetch of one call at a time saves more than α/2: PASTE's 48.5 % (arXiv 2603.18897)
 * needs a tool that takes as long as the model thinks and 97 guesses in 100 that come true.
 *
 *     npm run bench:prefetch [-- --turns 1000]
 */
import { parseArgs } from "node:util";
import { type Planted, playPlanted } from "../test/support/planted-prefetch.ts";

const { values } = parseArgs({ options: { turns: { type: "string", default: "1000" } } });
const turns = Number(values.turns);

const S = 1_000_000;
const second = (): number => S;
const ROOMY = { wasteShare: 1 };

type World = Pick<Planted, "title" | "hitRate" | "think" | "tool"> & Partial<Planted>;

const WORLDS: readonly World[] = [
  { title: "as long as the model thinks, α 0.98", hitRate: 0.98, think: second, tool: second },
  { title: "… learnt from 100 turns", hitRate: 0.98, think: second, tool: second, by: "learned" },
  { title: "α 0.80, as 80 % of support requests", hitRate: 0.8, think: second, tool: second },
  { title: "α 0.55", hitRate: 0.55, think: second, tool: second },
  { title: "α 0.55, tool 0.4 of thinking", hitRate: 0.55, think: second, tool: () => 0.4 * S },
  { title: "α 0.55, tool 2.5 of thinking", hitRate: 0.55, think: second, tool: () => 2.5 * S },
  {
    title: "α 0.80, both log-normal σ 0.6",
    hitRate: 0.8,
    think: (random) => S * Math.exp(0.6 * random.normal()),
    tool: (random) => 0.7 * S * Math.exp(0.6 * random.normal()),
  },
  {
    title: "α 0.55, waste at most 10 %",
    hitRate: 0.55,
    think: second,
    tool: second,
    budget: { wasteShare: 0.1 },
  },
  { title: "α 0.05: does not pay", hitRate: 0.05, think: second, tool: second },
];

const percent = (share: number): string => `${(100 * share).toFixed(1)} %`;

console.log(
  `${turns.toLocaleString("en-US")} turns of 5 calls each; the tool's time, and how often the guess is right`,
);
console.log(
  "                                        hits/calls   saved  formula    diff   waste  budget  off",
);
let isWithin = true;
for (const world of WORLDS) {
  const planted = { by: "rule", budget: ROOMY, ...world } as const;
  const { calls, withUs, withoutUs, report, ...formulas } = await playPlanted(planted, turns);
  // Where it holds itself back, the formula is asked with the share that it has let through.
  const isFree = report.off === null;
  const formulaUs = isFree ? formulas.plantedUs : formulas.foundUs;
  const saved = 1 - withUs / withoutUs;
  const formula = 1 - formulaUs / withoutUs;
  const difference = withUs / formulaUs - 1;
  const share = planted.budget.wasteShare ?? 1;
  const isOk = Math.abs(difference) <= 0.03 && report.wasteShare <= share + 0.01;
  isWithin &&= isOk;
  const cells = [percent(report.hits / calls), percent(saved), percent(formula)]
    .concat(percent(difference), percent(report.wasteShare), percent(share))
    .map((cell) => cell.padStart(8));
  console.log(`${world.title.padEnd(40)}  ${cells.join("")}  ${report.off?.why ?? ""}`);
}
console.log(
  isWithin
    ? "\nall within 3 % of the formula, and within the budget plus 1 %"
    : "\nNOT all within 3 % of the formula and the budget plus 1 %",
);
process.exitCode = isWithin ? 0 : 1;
