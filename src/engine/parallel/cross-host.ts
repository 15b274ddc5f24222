/**
 * Tensor parallelism across hosts, judged: what it costs every token, in numbers, and the refusal of it unless somebody
 * has said that they want it. A model too large for one host is better cut into pipeline stages, one host each, whose
 * hand-over happens once a step and not twice a layer; a model that fits is better copied.
 */
import { ManxError } from "../../core/index.ts";
import { Batch } from "../batch.ts";
import { RooflineCost } from "../cost-model.ts";
import { findGpu, findModel } from "../data-sheets.ts";
import { findLink } from "./links.ts";
import { collectivePrices } from "./tensor-parallel.ts";

/** The part of an engine's config that decides it. */
export interface HostLayout {
  readonly model: string;
  readonly gpu: string;
  readonly ranks: number;
  readonly ranksPerHost: number;
  readonly link: string;
  readonly allowCrossHost: boolean;
}

export interface CrossHostLoss {
  readonly hosts: number;
  /** All-reduces of one step, each over the link. */
  readonly allReduces: number;
  /** Added to every decode step of the stated batch, and so to every token: start-ups and bytes on the link. */
  readonly addedUs: number;
  /** A decode step of `DECODES` answers on `CONTEXT` tokens: on all ranks, and on those of one host alone. */
  readonly stepUs: number;
  readonly oneHostStepUs: number;
  /** The same in a sentence. */
  readonly text: string;
}

/** A batch of ordinary size, to have a number to name. */
const DECODES = 32;
const CONTEXT = 1_024;

/** Undefined if all ranks are in one host. @throws MANX_NAME_UNKNOWN */
export function crossHostLoss(layout: HostLayout): CrossHostLoss | undefined {
  const { ranks, ranksPerHost } = layout;
  if (ranks <= ranksPerHost) return undefined;
  const [gpu, model, link] = [
    findGpu(layout.gpu),
    findModel(layout.model),
    findLink(layout.link, "link"),
  ];
  const { across } = collectivePrices(gpu, model, { ranks, ranksPerHost, link });
  const batch = new Batch();
  for (let i = 0; i < DECODES; i += 1) batch.countDecode(CONTEXT);
  const stepUs = new RooflineCost(gpu, model, ranks, { ranksPerHost, link }).stepUs(batch);
  const oneHostStepUs = new RooflineCost(gpu, model, ranksPerHost, { ranksPerHost }).stepUs(batch);
  const addedUs = across.fixedUs + DECODES * across.usPerToken;
  const hosts = Math.ceil(ranks / ranksPerHost);
  const ms = (us: number): string => `${(us / 1_000).toFixed(1)} ms`;
  const text =
    `${across.count} all-reduces a step over ${link.name} between ${hosts} hosts: +${ms(addedUs)} on every token; ` +
    `a step of ${DECODES} answers takes ${ms(stepUs)} on ${ranks} ranks, ${ms(oneHostStepUs)} on ${ranksPerHost} of one host`;
  return { hosts, allReduces: across.count, addedUs, stepUs, oneHostStepUs, text };
}

/** @throws MANX_CONFIG_IMPOSSIBLE if ranks lie on several hosts unasked, or fill one of them in part. */
export function refuseCrossHost(layout: HostLayout): void {
  const loss = crossHostLoss(layout);
  if (loss === undefined) return;
  const { ranks, ranksPerHost } = layout;
  if (ranks % ranksPerHost !== 0) {
    throw new ManxError("MANX_CONFIG_IMPOSSIBLE", {
      where: "ranks",
      expected: `a multiple of the ${ranksPerHost} GPUs of a host`,
      got: `${ranks}`,
    });
  }
  if (layout.allowCrossHost) return;
  throw new ManxError("MANX_CONFIG_IMPOSSIBLE", {
    what: "tensor parallelism across hosts",
    where: "ranks",
    expected: `at most the ${ranksPerHost} GPUs of one host, or allowCrossHost`,
    got: `${ranks} ranks: ${loss.text}`,
    hint: "make pipeline stages or replicas of one host each",
  });
}
