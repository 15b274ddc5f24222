/** A replay in the form of the result document: conditions, counts, distributions and gauges of one run. */
import { US_PER_S } from "../core/index.ts";
import {
  crossHostLoss,
  describeConfig,
  describeFleet,
  describePools,
  type EngineTotals,
  keepsPrefixes,
  type Pools,
  type SpeculationTotals,
  type SwapTotals,
} from "../engine/index.ts";
import { METRIC_LABELS, toDistribution } from "./distribution.ts";
import type { ReplayOptions } from "./engine-replay.ts";
import { type Budgets, REPLAY_METRICS, type Replay } from "./replay-collector.ts";
import type { ResultRun } from "./result-document.ts";

/** The replay as a run of the result document. */
export function toResultRun(done: Replay, options: ReplayOptions, budgets?: Budgets): ResultRun {
  const { config, replicas = 1 } = options;
  const pools = options.pools ?? config.pools;
  const { histograms, totals } = done;
  const loss = crossHostLoss(config);
  const perS = (count: number): number =>
    done.offeredUs === 0 ? 0 : (count * US_PER_S) / done.offeredUs;
  return {
    name: options.name,
    world: "virtual",
    durationUs: done.endUs,
    seed: options.seed,
    conditions: {
      target: `twin: ${config.scheduling} batching, ${config.memory} KV`,
      measuredAt: "engine",
      arrivals: options.arrivals,
      workload: options.workload,
      offeredPerS: perS(done.offered),
      concurrencyCap: null,
      temperature: options.fleet?.readyUs === undefined ? "warm" : "mixed",
      cacheMode: keepsPrefixes(config) ? "on" : "off",
      setup: {
        ...describeConfig(config),
        replicas: pools === undefined ? replicas : pools.prefill + pools.decode,
        ...(pools !== undefined && { pools: describePools(pools) }),
        routing: options.routing ?? "round-robin",
        ...(options.fleet !== undefined && describeFleet(options.fleet)),
        ...(loss !== undefined && { crossHostLoss: loss.text }),
        costModel: options.cost?.name ?? config.cost.kind,
      },
    },
    counts: {
      offered: done.offered,
      sent: done.offered,
      completed: done.finished,
      failed: done.offered - done.finished,
      empty: 0,
      failures: { ...done.refused },
    },
    metrics: Object.fromEntries(
      REPLAY_METRICS.filter((name) => name !== "handoverUs" || pools !== undefined).map((name) => [
        name,
        toDistribution(histograms[name], METRIC_LABELS[name]),
      ]),
    ),
    gauges: { ...replayGauges(done, totals), ...poolGauges(done, pools) },
    stalls: null,
    goodput:
      budgets === undefined
        ? null
        : {
            budgets: { ...budgets },
            met: done.metBudgets,
            perS: perS(done.metBudgets),
            shareOfOffered: done.offered === 0 ? 0 : done.metBudgets / done.offered,
          },
    verdicts: [],
  };
}

function replayGauges(done: Replay, totals: EngineTotals): ResultRun["gauges"] {
  const share = (part: number, whole: number): number | null => (whole === 0 ? null : part / whole);
  const n = totals.steps;
  return {
    kvLiveShare: {
      title: "reserved KV that holds tokens of answers under way",
      unit: "share",
      value: share(totals.liveTokenSteps, totals.reservedTokenSteps),
      n,
      basis: "mean over steps",
    },
    kvReservedShare: {
      title: "KV memory set aside",
      unit: "share",
      value: share(totals.reservedTokenSteps, totals.totalTokenSteps),
      n,
      basis: "mean over steps",
    },
    batchSize: {
      title: "requests in a step",
      unit: "count",
      value: share(totals.requestSteps, totals.steps),
      n,
      basis: "mean over steps",
    },
    servedPerS: {
      title: "served until the last response",
      unit: "per-s",
      value: share(done.finished * US_PER_S, done.endUs),
      n: done.finished,
      basis: "finished requests over the whole run",
    },
    prefixHitShare: {
      title: "prompt tokens taken over from the prefix cache",
      unit: "share",
      value: share(done.prefix.hitTokens, done.prefix.queriedTokens),
      n: done.finished,
      basis: "first admissions only",
    },
    ...speculationGauges(done.speculation),
    preemptions: {
      title: "pre-emptions",
      unit: "count",
      value: totals.preemptions,
      n: done.offered,
      basis: "whole run",
    },
    ...swapGauges(done.swaps),
  };
}

/** What became of the KV of those that were thrown out. */
function swapGauges(swaps: SwapTotals | undefined): ResultRun["gauges"] {
  if (swaps === undefined) return {};
  const thrownOut = swaps.out + swaps.refused;
  const gauges: [keyof SwapTotals, string][] = [
    ["out", "requests whose KV was moved to host memory"],
    ["in", "requests whose KV came back from it"],
    ["dropped", "requests that ended while their KV was there"],
    ["refused", "requests computed again, since host memory was full"],
    ["outTokens", "tokens of KV moved to host memory, in whole blocks"],
    ["inTokens", "tokens of KV moved back, in whole blocks"],
  ];
  return Object.fromEntries(
    gauges.map(([key, title]) => [
      `swap${key[0]!.toUpperCase()}${key.slice(1)}`,
      { title, unit: "count" as const, value: swaps[key], n: thrownOut, basis: "whole run" },
    ]),
  );
}

function speculationGauges(speculation: SpeculationTotals | undefined): ResultRun["gauges"] {
  if (speculation === undefined) return {};
  const { draftedTokens, acceptedTokens, yieldedTokens, verifications } = speculation;
  return {
    draftAcceptance: {
      title: "drafted tokens that were accepted",
      unit: "share",
      value: draftedTokens === 0 ? null : acceptedTokens / draftedTokens,
      n: draftedTokens,
      basis: "all drafts of the run",
    },
    verificationTokens: {
      title: "tokens from a verification",
      unit: "count",
      value: verifications === 0 ? null : yieldedTokens / verifications,
      n: verifications,
      basis: "answers with drafts, once a step",
    },
  };
}

/** Which pool is the busier one, and what moving the KV between them takes. */
function poolGauges(done: Replay, pools: Pools | undefined): ResultRun["gauges"] {
  const { handovers, busyUs, endUs } = done;
  if (handovers === undefined || pools === undefined) return {};
  const busyShare = (part: readonly number[]): number | null =>
    endUs === 0 ? null : part.reduce((sum, us) => sum + us, 0) / (part.length * endUs);
  const { transfers, transferUs, waitUs, lost } = handovers;
  const mean = (us: number): number | null => (transfers === 0 ? null : us / transfers);
  const basis = "whole run";
  return {
    prefillBusyShare: {
      title: "time in steps, prefill engines",
      unit: "share",
      value: busyShare(busyUs.slice(0, pools.prefill)),
      n: pools.prefill,
      basis,
    },
    decodeBusyShare: {
      title: "time in steps, decode engines",
      unit: "share",
      value: busyShare(busyUs.slice(pools.prefill)),
      n: pools.decode,
      basis,
    },
    transferUs: {
      title: "KV on the link",
      unit: "us",
      value: mean(transferUs),
      n: transfers,
      basis: "mean over hand-overs",
    },
    transferWaitUs: {
      title: "KV waiting for a link and for room",
      unit: "us",
      value: mean(waitUs),
      n: transfers,
      basis: "mean over hand-overs",
    },
    transfersLost: {
      title: "hand-overs whose room was given away",
      unit: "count",
      value: lost,
      n: transfers,
      basis,
    },
  };
}
