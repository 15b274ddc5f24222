/**
 * From the section `engine` as people write it to what the server is started with. Invariant: nothing is defaulted here;
 * every value comes out of the section, so that what `manx config print` shows is what runs.
 */
import type { SectionConfig } from "../../config/index.ts";
import { parseDurationUs, parseSizeBytes } from "../../core/index.ts";
import type { EngineConfig, Fleet, SchedulingLevers } from "../../engine/index.ts";
import type { EngineServerOptions } from "../engine-server.ts";
import { parseFaultShare } from "../fault-schema.ts";
import { readCost } from "./cost-files.ts";
import type { EngineSection } from "./engine-schema.ts";
import { atItsPlace } from "./error-places.ts";

export interface EngineSetup {
  /** All but the clock. */
  readonly server: Omit<EngineServerOptions, "clock">;
  /** How long open requests may go on at the end. */
  readonly drainUs: number;
}

/** More than any host has; a number beyond it is a slip. */
const HOST_GIB_MAX = 65_536;

/**
 * @param workFolder where paths that do not stand in the file begin.
 * @throws MANX_CONFIG_VALUE, MANX_FILE_UNREADABLE, MANX_TABLE_FORMAT
 */
export async function engineSetup(
  section: SectionConfig<EngineSection>,
  workFolder = ".",
): Promise<EngineSetup> {
  const { value } = section;
  const { listen, servedModel, speed, seed, queue, replicas, routing } = value;
  const fleet = fleetOf(value);
  return {
    server: {
      config: await engineConfigOf(section, workFolder),
      host: listen.host,
      port: listen.port,
      speed,
      seed,
      waitingMax: queue,
      replicas,
      routing,
      faults: value.faults.map((_, i) => faultOf(section, i)),
      ...(fleet !== undefined && { fleet }),
      ...(servedModel !== undefined && { servedModel }),
    },
    drainUs: us(value.drain),
  };
}

async function engineConfigOf(
  section: SectionConfig<EngineSection>,
  workFolder: string,
): Promise<EngineConfig> {
  const { value } = section;
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
    cost: await readCost(section, workFolder),
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

function fleetOf({ cold, neighbour, hourly }: EngineSection): Fleet | undefined {
  if (cold === undefined && neighbour === undefined && hourly === undefined) return undefined;
  return {
    ...(cold !== undefined && { readyUs: cold.map(us) }),
    ...(neighbour !== undefined && {
      neighbour: { share: neighbour.share, onUs: us(neighbour.on), offUs: us(neighbour.off) },
    }),
    ...(neighbour?.replicas !== undefined && { noisyReplicas: neighbour.replicas }),
    ...(hourly !== undefined && { hourly }),
  };
}

function faultOf(section: SectionConfig<EngineSection>, index: number) {
  try {
    return parseFaultShare(section.value.faults[index], `faults.${index}`);
  } catch (thrown) {
    throw atItsPlace(thrown, section);
  }
}

/** The schema has let through durations only. */
function us(text: string): number {
  return parseDurationUs(text, "duration");
}
