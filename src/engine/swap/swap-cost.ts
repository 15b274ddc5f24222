/**
 * What moving KV to host memory and back costs the step that waits for it. Each rank moves its own part over a PCIe link of
 * its own, first in, then out, and computes when both are done: engines copy on the stream that computes, so this is how
 * they do it, and where they overlap the two it is the careful figure.
 *
 * The line rate of a link is the data sheet's. What a copy reaches of it and how long it takes to start are assumptions of
 * the right size, stated so that they can be argued with: 0.8, as for kernels that only move memory, and 20 µs.
 */
import type { CostModel } from "../cost-model.ts";
import { type Gpu, kvBytesPerToken, type Model } from "../data-sheets.ts";
import { type Link, linkUs } from "../parallel/links.ts";

const LINE_SHARE = 0.8;
const COPY_LATENCY_US = 20;

/** Between one GPU and its host, as a copy finds it. */
export function hostLink(gpu: Gpu): Link {
  return {
    name: `PCIe of ${gpu.name}`,
    bytesPerS: gpu.hostBytesPerS * LINE_SHARE,
    latencyUs: COPY_LATENCY_US,
  };
}

export interface SwapLayout {
  readonly gpu: Gpu;
  readonly model: Model;
  readonly ranks: number;
}

/** The same prices, and before each step the copies that the plan has ordered. */
export function withSwaps(cost: CostModel, { gpu, model, ranks }: SwapLayout): CostModel {
  const link = hostLink(gpu);
  const bytesPerToken = kvBytesPerToken(model) / ranks;
  const copyUs = (tokens: number): number =>
    tokens === 0 ? 0 : linkUs(link, tokens * bytesPerToken);
  return {
    name: `${cost.name}, with swaps`,
    stepUs: (batch) => {
      const us = cost.stepUs(batch);
      if (batch.swapInTokens + batch.swapOutTokens === 0) return us;
      return us + Math.round(copyUs(batch.swapInTokens) + copyUs(batch.swapOutTokens));
    },
  };
}
