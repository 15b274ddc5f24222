/** Pools as a config names them: plain numbers and a link, and the check that there is an engine in each. */
import { ManxError } from "../../core/index.ts";
import { findLink, type LinkName } from "../parallel/links.ts";

export interface PoolSizes {
  /** Engines, each of as many GPUs as its config has ranks. */
  readonly prefill: number;
  readonly decode: number;
}

export interface Pools extends PoolSizes {
  /** Between the pools, for KV. Not the link between the hosts of one engine. */
  readonly link: LinkName;
}

/** @throws MANX_CONFIG_IMPOSSIBLE, MANX_NAME_UNKNOWN */
export function checkPools(pools: Pools, scheduling: string): void {
  checkPoolSizes(pools);
  findLink(pools.link, "pools.link");
  refuseStatic("scheduling", scheduling);
}

/** @throws MANX_CONFIG_IMPOSSIBLE */
export function checkPoolSizes({ prefill, decode }: PoolSizes): void {
  for (const [name, count] of Object.entries({ prefill, decode })) {
    if (Number.isInteger(count) && count >= 1) continue;
    refuse(`pools.${name}`, "at least one engine in each pool", String(count));
  }
}

/** @throws MANX_CONFIG_IMPOSSIBLE */
export function refuseStatic(where: string, scheduling: string): void {
  if (scheduling === "static") refuse(where, "continuous or chunked in a pool", scheduling);
}

function refuse(where: string, expected: string, got: string): never {
  throw new ManxError("MANX_CONFIG_IMPOSSIBLE", { where, expected, got });
}

/** `1 prefill + 2 decode over nvlink`. */
export function describePools({ prefill, decode, link }: Pools): string {
  return `${prefill} prefill + ${decode} decode over ${link}`;
}
