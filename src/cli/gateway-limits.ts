/** Every limit that a gateway runs by, for `--verbose`; times in µs, as their names say. */
import type { LimitsInEffect } from "../gateway/index.ts";

export function limitLines({ timeouts, ...limits }: LimitsInEffect): string {
  const lines = lineEach(limits);
  for (const [policy, times] of Object.entries(timeouts)) {
    lines.push(...lineEach(times).map((line) => `  ${policy}:${line.slice(1)}`));
  }
  return lines.map((line) => `${line}\n`).join("");
}

function lineEach(limits: object): string[] {
  return Object.entries(limits).map(([name, value]) => `  ${name} ${value}`);
}
