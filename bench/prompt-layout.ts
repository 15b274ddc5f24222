/**
 * One agent, laid out as people write it and compiled: hit share and TTFT through the twin's radix cache in virtual time, and
 * the hit share at a simulated provider.
 *
 *     npm run bench:prompt-layout [-- --conversations 60] [-- --turns 8] [-- --seed 7]
 */
import { parseArgs } from "node:util";
import { promptWorld } from "../test/support/prompt-world.ts";

const { values } = parseArgs({
  options: {
    conversations: { type: "string", default: "60" },
    turns: { type: "string", default: "8" },
    seed: { type: "string", default: "7" },
  },
});
const figures = promptWorld({
  conversations: Number(values.conversations),
  turns: Number(values.turns),
  seed: Number(values.seed),
});

const percent = (share: number): string => `${(share * 100).toFixed(1)} %`.padStart(9);
console.log("layout       hit twin  provider  TTFT p50      p99     n  breaks  first cause");
for (const [layout, one] of Object.entries(figures)) {
  const ms = (value: number): string => `${value.toFixed(1)} ms`.padStart(9);
  console.log(
    `${layout.padEnd(11)} ${percent(one.hitShare)} ${percent(one.providerShare)} ` +
      `${ms(one.ttftMsP50)} ${ms(one.ttftMsP99)} ${String(one.n).padStart(5)} ` +
      `${String(one.breaks).padStart(7)}  ${one.topCause ?? "none"}`,
  );
}
