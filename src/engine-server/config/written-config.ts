/** The engine's config out of the section, value by value; whether it can exist is not looked at here. */
import { parseDurationUs, parseSizeBytes } from "../../core/index.ts";
import type { CostChoice, EngineConfig, SchedulingLevers } from "../../engine/index.ts";
import type { EngineSection } from "./engine-schema.ts";

/** More than any host has; a number beyond it is a slip. */
const HOST_GIB_MAX = 65_536;

export function writtenConfig(value: EngineSection, cost: CostChoice): EngineConfig {
  const { model, gpu, ranks, ranksPerHost, link, allowCrossHost, attention, speculation } = value;
  return {
    ...leversOf(value),
    model,
    gpu,
    ranks,
    ranksPerHost,
    link,
    allowCrossHost,
    attention,
    cost,
    contextMax: value.context,
    scheduling: value.scheduling,
    sequencesMax: value.sequences,
    tokensMax: value.tokens,
    fillWaitUs: us(value.fillWait),
    ahead: value.ahead,
    admission: value.admission,
    memory: value.memory,
    memoryShare: value.memoryShare,
    blockTokens: value.block,
    // A live prompt is told apart block by block.
    pieceTokens: value.block,
    preemption: value.preemption,
    hostMemoryBytes: parseSizeBytes(value.hostMemory, "engine.hostMemory", HOST_GIB_MAX),
    ...(value.kvTokens !== undefined && { kvTokens: value.kvTokens }),
    ...(value.pools !== undefined && { pools: value.pools }),
    ...(speculation !== undefined && {
      speculation: {
        draftTokens: speculation.drafts,
        acceptance: speculation.acceptance,
        draftShare: speculation.draftShare,
        seed: speculation.seed,
      },
    }),
  };
}

function leversOf(value: EngineSection): SchedulingLevers {
  return {
    order: value.order,
    ageingUs: us(value.ageing),
    priorityPreempts: value.priorityPreempts,
    starvationUs: us(value.starvation),
    outputWeight: value.outputWeight,
    mixing: value.mixing,
    consecutivePrefillsMax: value.consecutivePrefills,
    requestTokensMax: value.requestTokens,
    longPromptTokens: value.longPrompt,
    longPrefillsMax: value.longPrefills,
    passesMax: value.passes,
  };
}

/** The schema has let through durations only. */
function us(text: string): number {
  return parseDurationUs(text, "duration");
}
