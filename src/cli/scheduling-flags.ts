/** The twin's scheduling levers as flags of `manx engine`. Names are checked where they are looked up, with the nearest. */
import type { Command } from "commander";
import { parseDurationUs } from "../core/index.ts";
import type { OrderName, SchedulingLevers } from "../engine/index.ts";
import { parseFactor } from "./flag-values.ts";

export interface SchedulingFlags {
  readonly order: string;
  readonly ageing: string;
  readonly priorityPreempts?: true;
  readonly starvation: string;
  readonly outputWeight: string;
}

export function addSchedulingFlags(command: Command): Command {
  return command
    .option(
      "--order <name>",
      "who is next: first-come, priority, shortest-uncached or fair-share",
      "first-come",
    )
    .option("--ageing <duration>", "priority: a wait worth one class; 0s is strict", "10s")
    .option("--priority-preempts", "priority: a better class throws out who runs")
    .option(
      "--starvation <duration>",
      "shortest-uncached: a wait that counts more than length",
      "5s",
    )
    .option("--output-weight <factor>", "fair-share: an output token against a prompt token", "2");
}

/** @throws MANX_DURATION, MANX_FLAG_VALUE */
export function readScheduling(flags: SchedulingFlags): SchedulingLevers {
  return {
    order: flags.order as OrderName,
    ageingUs: parseDurationUs(flags.ageing, "--ageing"),
    priorityPreempts: flags.priorityPreempts === true,
    starvationUs: parseDurationUs(flags.starvation, "--starvation"),
    outputWeight: parseFactor(flags.outputWeight, "--output-weight", 0.001, 1_000),
  };
}
