/**
 * From the section `engine` as people write it to what the server is started with. Invariant: nothing is defaulted here;
 * every value comes out of the section, so that what `manx config print` shows is what runs.
 */
import type { SectionConfig } from "../../config/index.ts";
import { parseDurationUs } from "../../core/index.ts";
import { checkConfig, checkFleet, type Fleet } from "../../engine/index.ts";
import type { EngineServerOptions } from "../engine-server.ts";
import { parseFaultShare } from "../fault-schema.ts";
import { readCost } from "./cost-files.ts";
import type { EngineSection } from "./engine-schema.ts";
import { atItsPlace } from "./error-places.ts";
import { withFittedPresets } from "./fitted-presets.ts";
import { writtenConfig } from "./written-config.ts";

export interface EngineSetup {
  /** As it is in effect: with what a fitted cost says of its engine. */
  readonly section: SectionConfig<EngineSection>;
  /** All but the clock. */
  readonly server: Omit<EngineServerOptions, "clock">;
  /** How long open requests may go on at the end. */
  readonly drainUs: number;
}

/**
 * @param workFolder where paths that do not stand in the file begin.
 * @throws MANX_CONFIG_VALUE, MANX_CONFIG_IMPOSSIBLE, MANX_FILE_UNREADABLE, MANX_TABLE_FORMAT; each at the line, variable
 * or flag that is the cause
 */
export async function engineSetup(
  written: SectionConfig<EngineSection>,
  workFolder = ".",
): Promise<EngineSetup> {
  const cost = await readCost(written, workFolder);
  const section = withFittedPresets(written, cost);
  const { value } = section;
  const { listen, servedModel, speed, seed, queue, replicas, routing } = value;
  const fleet = fleetOf(value);
  const config = writtenConfig(value, cost);
  try {
    checkConfig(config);
    if (fleet !== undefined) checkFleet(fleet, replicas);
  } catch (thrown) {
    throw atItsPlace(thrown, section);
  }
  return {
    section,
    server: {
      config,
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
