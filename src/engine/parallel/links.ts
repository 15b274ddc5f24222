/**
 * Links between GPUs and hosts by name: what a collective or a KV transfer can really move, not the line rate.
 *
 * Usable bytes are those that llm-d documents for KV transfer. Latencies are assumptions of the right size, stated so that
 * they can be argued with: a few microseconds where a network card reads GPU memory by itself (InfiniBand, RoCE), tens
 * where the kernel's TCP stack and a copy through host memory are on the way (Ethernet).
 */
import { lookUp } from "../../core/index.ts";

export interface Link {
  readonly name: string;
  /** One direction. */
  readonly bytesPerS: number;
  /** From one end's memory to the other's, for a message of no length. */
  readonly latencyUs: number;
}

const LINKS = {
  nvlink: { name: "nvlink", bytesPerS: 600e9, latencyUs: 4 },
  "infiniband-400g": { name: "infiniband-400g", bytesPerS: 40e9, latencyUs: 5 },
  "roce-200g": { name: "roce-200g", bytesPerS: 20e9, latencyUs: 8 },
  "ethernet-100g": { name: "ethernet-100g", bytesPerS: 10e9, latencyUs: 30 },
  "ethernet-25g": { name: "ethernet-25g", bytesPerS: 2.5e9, latencyUs: 50 },
} as const satisfies Record<string, Link>;

export type LinkName = keyof typeof LINKS;

export const LINK_NAMES: readonly string[] = Object.keys(LINKS);

/** @param where as of `lookUp`. @throws MANX_NAME_UNKNOWN with the nearest name. */
export function findLink(name: string, where?: string): Link {
  return lookUp(LINKS, name, "link", where);
}

/** Time on the wire of one message, µs, not rounded. */
export function linkUs(link: Link, bytes: number): number {
  return link.latencyUs + (bytes * 1e6) / link.bytesPerS;
}
