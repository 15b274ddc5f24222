/**
 * Which cost model prices the steps, as plain data: tables come as their text, so that a config can be written down whole
 * and nothing here reads a file. Building one takes time (tables are parsed); one is enough for any number of replicas.
 */
import { lookUp, ManxError } from "../core/index.ts";
import { type AttentionKernel, type CostModel, RooflineCost } from "./cost-model.ts";
import { findGpu, findModel } from "./data-sheets.ts";
import { FittedCost } from "./fitted-cost.ts";
import { type FittedCostText, readFittedCost } from "./fitted-cost-text.ts";
import { KernelTableCost, type KernelTableText } from "./kernel-table-cost.ts";
import { findLink, type LinkName } from "./parallel/links.ts";
import { type LayerProfileText, ProfileCost, type ProfileCostOptions } from "./profile-cost.ts";

export type CostChoice =
  /** From the data sheets of GPU, model and links. */
  | { readonly kind: "roofline" }
  /** Published tables of single kernels on the config's GPU, in 16 bit. */
  | {
      readonly kind: "kernel-tables";
      readonly tables: KernelTableText;
      /** µs added to every step, and for each sequence of it (default 0): what is not a kernel. */
      readonly stepOverheadUs: number;
      readonly sequenceOverheadUs?: number;
    }
  /** A profile of one layer of the config's model, on its GPU and number of ranks. */
  | ({ readonly kind: "profile"; readonly profile: LayerProfileText } & Omit<
      ProfileCostOptions,
      "layers"
    >)
  /** Fitted to an engine as it stands: model, GPU and ranks are in the numbers. */
  | { readonly kind: "fitted"; readonly fitted: FittedCostText };

export type CostKind = CostChoice["kind"];
export const COST_KINDS = [
  "roofline",
  "kernel-tables",
  "profile",
  "fitted",
] as const satisfies readonly CostKind[];

/** The part of an engine's config that its prices depend on. */
export interface PricedConfig {
  readonly model: string;
  readonly gpu: string;
  readonly ranks: number;
  readonly ranksPerHost: number;
  readonly link: LinkName;
  readonly attention: AttentionKernel;
  readonly cost: CostChoice;
}

/** What can be told without parsing a table. @throws MANX_CONFIG_IMPOSSIBLE, MANX_NAME_UNKNOWN, MANX_TABLE_FORMAT */
export function checkCost(config: PricedConfig): void {
  const { cost, attention, ranks, ranksPerHost } = config;
  lookUp(
    Object.fromEntries(COST_KINDS.map((kind) => [kind, kind])),
    cost.kind,
    "cost",
    "cost.kind",
  );
  const isMeasured = cost.kind !== "roofline";
  const wrong = (where: string, expected: string, got: string): never => {
    throw new ManxError("MANX_CONFIG_IMPOSSIBLE", {
      where,
      expected: `${where}: ${expected} with cost "${cost.kind}"`,
      got,
    });
  };
  if (isMeasured && attention !== "split-kv") {
    wrong("attention", "split-kv, which is what was measured,", attention);
  }
  if (cost.kind === "kernel-tables" && ranks > ranksPerHost) {
    wrong("ranks", `at most the ${ranksPerHost} GPUs of one host`, String(ranks));
  }
  if (cost.kind !== "fitted") return;
  const { engine } = readFittedCost(cost.fitted, "cost.fitted");
  for (const field of ["model", "gpu", "ranks"] as const) {
    const fittedTo = engine?.[field] ?? config[field];
    if (fittedTo !== config[field]) {
      wrong(field, `${fittedTo}, which the prices were fitted to,`, String(config[field]));
    }
  }
}

/** Prices from the data sheets, whatever the config's cost. @throws MANX_NAME_UNKNOWN */
export function rooflineOf(config: Omit<PricedConfig, "cost">): RooflineCost {
  const { gpu, model, ranks, ranksPerHost, link, attention } = config;
  return new RooflineCost(findGpu(gpu), findModel(model), ranks, {
    ranksPerHost,
    link: findLink(link),
    attention,
  });
}

const BUILDERS: {
  readonly [Kind in CostKind]: (
    choice: Extract<CostChoice, { kind: Kind }>,
    config: PricedConfig,
  ) => CostModel;
} = {
  roofline: (_, config) => rooflineOf(config),
  "kernel-tables": ({ kind: _, tables, ...overheads }, { gpu, model, ranks }) =>
    new KernelTableCost(tables, {
      gpu: findGpu(gpu),
      model: findModel(model),
      ranks,
      ...overheads,
    }),
  profile: ({ kind: _, profile, ...options }, { model }) =>
    new ProfileCost(profile, { ...options, layers: findModel(model).layers }),
  fitted: ({ fitted }) => new FittedCost(fitted.coefficients),
};

/** @throws MANX_CONFIG_IMPOSSIBLE, MANX_NAME_UNKNOWN, MANX_TABLE_FORMAT */
export function costOf(config: PricedConfig): CostModel {
  checkCost(config);
  const build = BUILDERS[config.cost.kind] as (choice: CostChoice, of: PricedConfig) => CostModel;
  return build(config.cost, config);
}

/** `fitted on run.jsonl (5000 requests)`: its kind and where it comes from. */
export function describeCost(cost: CostChoice): string {
  if (cost.kind === "kernel-tables") return `kernel-tables from ${cost.tables.gemm.name}`;
  if (cost.kind === "profile") return `profile from ${cost.profile.dense.name}`;
  if (cost.kind === "roofline") return "roofline";
  const { source, requests } = cost.fitted.fittedOn;
  return `fitted on ${source} (${requests} requests)`;
}
