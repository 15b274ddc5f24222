/**
 * The price of tensor parallelism: each layer ends twice in an all-reduce over all its ranks, so a model of 80 layers does
 * 160 of them in every step, one after the other, and each waits for the slowest link.
 *
 * Ring all-reduce over n ranks: 2(n−1)/n of the bytes over the link, 2(n−1) start-ups. Across hosts it is done in two
 * levels, as NCCL does it: a ring inside each host, and one between the hosts over the link that each host has one of.
 */
import { type Gpu, type Model, VALUE_BYTES } from "../data-sheets.ts";
import type { Link } from "./links.ts";

export interface RankLayout {
  /** GPUs that share each layer, all hosts together. */
  readonly ranks: number;
  readonly ranksPerHost: number;
  /** Between hosts; not used by ranks that are in one. */
  readonly link: Link;
}

/** What the all-reduces of a step add to it: `fixedUs + tokens × usPerToken`. */
export interface CollectivePrice {
  /** All-reduces of one step. */
  readonly count: number;
  readonly fixedUs: number;
  readonly usPerToken: number;
}

/** Start-up of one message between GPUs of a host. */
const HOST_LATENCY_US = 4;
const NONE: CollectivePrice = { count: 0, fixedUs: 0, usPerToken: 0 };

/** Of the part inside the hosts and the part between them; the sum is what a step pays. */
export function collectivePrices(
  gpu: Gpu,
  model: Model,
  layout: RankLayout,
): { readonly inside: CollectivePrice; readonly across: CollectivePrice } {
  const hosts = Math.ceil(layout.ranks / layout.ranksPerHost);
  const perHost = hosts === 1 ? layout.ranks : layout.ranksPerHost;
  const { bytesPerS, latencyUs } = layout.link;
  // GPUs without NVLink talk over PCIe.
  const insideBytesPerS = Math.max(gpu.nvlinkBytesPerS, gpu.hostBytesPerS);
  return {
    inside: ring(model, perHost, insideBytesPerS, HOST_LATENCY_US),
    across: ring(model, hosts, bytesPerS, latencyUs),
  };
}

function ring(model: Model, ranks: number, bytesPerS: number, latencyUs: number): CollectivePrice {
  if (ranks === 1) return NONE;
  const count = 2 * model.layers;
  const share = (2 * (ranks - 1)) / ranks;
  return {
    count,
    fixedUs: count * 2 * (ranks - 1) * latencyUs,
    usPerToken: (count * share * model.hidden * VALUE_BYTES) / (bytesPerS / 1e6),
  };
}
