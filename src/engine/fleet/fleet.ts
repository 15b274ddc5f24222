/**
 * What happens to the replicas of a fleet beside the requests: some start cold, some have a neighbour on their GPU, and
 * all share it with a background load that follows the hour. The balancer knows nothing of it, as most do not.
 */
import { ManxError, US_PER_S } from "../../core/index.ts";
import type { BuildOptions } from "../build-engine.ts";
import {
  type DayOfLoad,
  HourlyLoad,
  type Neighbour,
  NoisyNeighbour,
  together,
} from "../interference/index.ts";

export interface Fleet {
  /** By replica: time of the run at which it starts to compute. Those not named are ready at once. */
  readonly readyUs?: readonly number[];
  /** Comes and goes on each noisy replica by itself. */
  readonly neighbour?: Neighbour;
  /** Replicas with a neighbour; default all. */
  readonly noisyReplicas?: readonly number[];
  readonly hourly?: DayOfLoad;
}

/** @throws MANX_CONFIG_IMPOSSIBLE */
export function checkFleet(fleet: Fleet, replicas: number): void {
  const { readyUs = [], noisyReplicas = [] } = fleet;
  const refuse = (name: string, expected: string, got: readonly number[]): never => {
    throw new ManxError("MANX_CONFIG_IMPOSSIBLE", {
      where: `fleet.${name}`,
      expected,
      got: got.join(", "),
    });
  };
  if (readyUs.length > replicas) {
    refuse("readyUs", `at most ${replicas}, one for each replica`, [readyUs.length]);
  }
  if (readyUs.some((us) => !(us >= 0 && Number.isFinite(us)))) {
    refuse("readyUs", "times from 0", readyUs);
  }
  if (noisyReplicas.some((one) => !Number.isInteger(one) || one < 0 || one >= replicas)) {
    refuse("noisyReplicas", `replicas from 0 to ${replicas - 1}`, noisyReplicas);
  }
}

/** What one engine of the fleet is built with. */
export function engineConditions(
  fleet: Fleet,
  replica: number,
  seed: number,
): Pick<BuildOptions, "readyUs" | "interference"> {
  const { neighbour, noisyReplicas, hourly } = fleet;
  const isNoisy = noisyReplicas === undefined || noisyReplicas.includes(replica);
  const others = together([
    ...(neighbour !== undefined && isNoisy
      ? [new NoisyNeighbour(neighbour, seed, String(replica))]
      : []),
    ...(hourly !== undefined ? [new HourlyLoad(hourly)] : []),
  ]);
  return {
    readyUs: fleet.readyUs?.[replica] ?? 0,
    ...(others !== undefined && { interference: others }),
  };
}

function describeNeighbour({ share, onUs, offUs }: Neighbour): string {
  return `takes ${share} for ${onUs / US_PER_S} s in ${(onUs + offUs) / US_PER_S} s`;
}

/** For the conditions of a result. */
export function describeFleet(fleet: Fleet): Record<string, string> {
  const { readyUs, neighbour, noisyReplicas, hourly } = fleet;
  const on = noisyReplicas === undefined ? "all replicas" : `replicas ${noisyReplicas.join(", ")}`;
  return {
    ...(readyUs !== undefined && { readyS: readyUs.map((us) => us / US_PER_S).join(", ") }),
    ...(neighbour !== undefined && { neighbour: `${describeNeighbour(neighbour)} on ${on}` }),
    ...(hourly !== undefined && {
      hourly: `from ${hourly.startHour}:00, ${hourly.shares.join("/")}`,
    }),
  };
}
