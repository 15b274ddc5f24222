/** The twin's scheduling levers as flags of `manx engine`. Names are checked where they are looked up, with the nearest. */
import type { Command } from "commander";
import { parseDurationUs } from "../core/index.ts";
import type { Mixing, OrderName, SchedulingLevers } from "../engine/index.ts";
import { parseCount, parseFactor } from "./flag-values.ts";

export interface SchedulingFlags {
  readonly order: string;
  readonly ageing: string;
  readonly priorityPreempts?: true;
  readonly starvation: string;
  readonly outputWeight: string;
  readonly mixing: string;
  readonly consecutivePrefills: string;
  readonly requestTokens: string;
  readonly longPrompt: string;
  readonly longPrefills: string;
  readonly passes: string;
}

const COUNT_MAX = 100_000_000;

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
    .option("--output-weight <factor>", "fair-share: an output token against a prompt token", "2")
    .option("--mixing <name>", "chunked: decode-first or prefill-first", "decode-first")
    .option(
      "--consecutive-prefills <count>",
      "prefill-first: most steps of prompts in a row; 0 is any",
      "0",
    )
    .option(
      "--request-tokens <count>",
      "chunked: most tokens of a request in a step; 0 is any",
      "0",
    )
    .option("--long-prompt <tokens>", "uncached tokens above which a prompt is long", "4096")
    .option("--long-prefills <count>", "most long prompts under way at a time; 0 is any", "0")
    .option("--passes <count>", "steps in which others pass one that does not fit", "0");
}

/** @throws MANX_DURATION, MANX_FLAG_VALUE */
export function readScheduling(flags: SchedulingFlags): SchedulingLevers {
  return {
    order: flags.order as OrderName,
    ageingUs: parseDurationUs(flags.ageing, "--ageing"),
    priorityPreempts: flags.priorityPreempts === true,
    starvationUs: parseDurationUs(flags.starvation, "--starvation"),
    outputWeight: parseFactor(flags.outputWeight, "--output-weight", 0.001, 1_000),
    mixing: flags.mixing as Mixing,
    consecutivePrefillsMax: parseCount(
      flags.consecutivePrefills,
      "--consecutive-prefills",
      0,
      COUNT_MAX,
    ),
    requestTokensMax: parseCount(flags.requestTokens, "--request-tokens", 0, COUNT_MAX),
    longPromptTokens: parseCount(flags.longPrompt, "--long-prompt", 1, COUNT_MAX),
    longPrefillsMax: parseCount(flags.longPrefills, "--long-prefills", 0, COUNT_MAX),
    passesMax: parseCount(flags.passes, "--passes", 0, COUNT_MAX),
  };
}
