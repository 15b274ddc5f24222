/**
 * The measured vLLM 0.15.1 runs under data/vllm-0.15-runs and the twin of each, priced by the kernel tables under
 * data/kernel-tables. The figures are known per stage only, seen from the client.
 */
import { readFileSync } from "node:fs";
import { gunzipSync } from "node:zlib";
import { SimClock } from "../../src/clock/index.ts";
import {
  ContinuousBatcher,
  Engine,
  type EngineRequest,
  findGpu,
  findModel,
  KernelTableCost,
  type KernelTableText,
  type Model,
  PrefixKv,
  type RequestShape,
} from "../../src/engine/index.ts";
import { interpolatedQuantile, mean } from "./latency-table.ts";

const DATA = new URL("../../data/", import.meta.url);
const BLOCK_TOKENS = 16;

export interface StageFigures {
  readonly e2eMean: number;
  readonly e2eP99: number;
  readonly ttftMean: number;
  readonly ttftP99: number;
  readonly itlMean: number;
}

export interface ServedRun {
  readonly id: string;
  /** Model, GPUs: what one family of runs has in common. */
  readonly family: string;
  readonly gpu: "h100-sxm" | "a100-80gb-sxm";
  readonly model: Model;
  readonly ranks: number;
  readonly tokensMax: number;
  readonly promptTokens: number;
  readonly outputTokens: number;
  readonly systemPrompts: number;
  readonly systemTokens: number;
  /** Distinct prompts; they are sent in turn, again and again. */
  readonly prompts: number;
  readonly stages: readonly { ratePerS: number; durationS: number; real: StageFigures }[];
}

interface Facts {
  readonly workloads: Readonly<
    Record<
      string,
      {
        readonly system_prompts: number;
        readonly users_per_prompt: number;
        readonly system_prompt_len: number;
        readonly question_len: number;
        readonly output_len: number;
        readonly stages: readonly (readonly [number, number])[];
      }
    >
  >;
  readonly experiments: readonly {
    readonly exp: string;
    readonly model: string;
    readonly gpu: string;
    readonly tp: number;
    readonly max_num_batched_tokens: number;
    readonly workload: string;
    readonly stages: Readonly<Record<string, Readonly<Record<string, number>>>>;
  }[];
}

/** From its model card; it is in no data sheet of the twin. */
const YI_34B: Model = {
  name: "yi-34b",
  layers: 60,
  hidden: 7_168,
  heads: 56,
  kvHeads: 8,
  headSize: 128,
  intermediate: 20_480,
  vocabulary: 64_000,
  contextMax: 4_096,
  tiedEmbedding: false,
};

const MODELS: readonly (readonly [RegExp, Model])[] = [
  [/Llama-3\.1-8B/i, findModel("llama-3.1-8b")],
  [/Llama-2-70b/i, findModel("llama-2-70b")],
  [/Nemo/i, findModel("mistral-nemo-12b")],
  [/Qwen2\.5-7B/i, findModel("qwen2.5-7b")],
  [/Yi-34B/i, YI_34B],
];

/** All runs with a published workload: run 46 has none. */
export function servedRuns(): ServedRun[] {
  const text = readFileSync(new URL("vllm-0.15-runs/facts.json", DATA), "utf8");
  const { workloads, experiments } = JSON.parse(text) as Facts;
  return experiments.flatMap((one) => {
    const workload = workloads[one.workload];
    const model = MODELS.find(([pattern]) => pattern.test(one.model))?.[1];
    if (workload === undefined || model === undefined) return [];
    const gpu = one.gpu === "H100" ? "h100-sxm" : "a100-80gb-sxm";
    return {
      id: one.exp,
      family: `${model.name}, ${one.gpu} × ${one.tp}`,
      gpu,
      model,
      ranks: one.tp,
      tokensMax: one.max_num_batched_tokens,
      promptTokens: workload.system_prompt_len + workload.question_len,
      outputTokens: workload.output_len,
      systemPrompts: workload.system_prompts,
      systemTokens: workload.system_prompt_len,
      prompts: workload.system_prompts * workload.users_per_prompt,
      stages: workload.stages.map(([ratePerS, durationS], i) => {
        const real = one.stages[String(i)] ?? one.stages.whole!;
        return {
          ratePerS,
          durationS,
          real: {
            e2eMean: real.e2e_mean!,
            e2eP99: real.e2e_p99!,
            ttftMean: real.ttft_mean!,
            ttftP99: real.ttft_p99!,
            itlMean: real.itl_mean!,
          },
        };
      }),
    };
  });
}

export function kernelTables(gpu: ServedRun["gpu"]): KernelTableText {
  const folder = gpu === "h100-sxm" ? "h100-sxm" : "a100-sxm";
  const read = (file: string) => {
    const name = `kernel-tables/${folder}/${file}.csv.gz`;
    return { name, text: gunzipSync(readFileSync(new URL(name, DATA))).toString("utf8") };
  };
  return {
    gemm: read("gemm"),
    contextAttention: read("context-attention"),
    generationAttention: read("generation-attention"),
    allReduce: read("custom-allreduce"),
  };
}

export interface TransferRule {
  readonly stepOverheadUs: number;
  readonly sequenceOverheadUs: number;
  readonly ahead: boolean;
  /** Share of each stage's length that is simulated; 1 is all of it. */
  readonly share: number;
}

/**
 * The figures of each stage in the twin, from the engine's side: what a request costs outside of it is added by
 * `seenByClient`. Stages follow one another on one engine, as they did; nothing is cached when the first begins.
 */
export function runStages(
  run: ServedRun,
  rule: TransferRule,
  tables: KernelTableText,
): StageFigures[] {
  const clock = new SimClock();
  const collected = run.stages.map(() => new StageTimes());
  const engine = new Engine({
    clock,
    cost: new KernelTableCost(tables, {
      ...rule,
      gpu: findGpu(run.gpu),
      model: run.model,
      ranks: run.ranks,
    }),
    scheduler: new ContinuousBatcher(new PrefixKv(25_000 * BLOCK_TOKENS, BLOCK_TOKENS), {
      prompts: "chunked",
      admission: "step",
      ahead: rule.ahead,
      sequencesMax: 128,
      tokensMax: run.tokensMax,
    }),
    sink: {
      onToken: () => undefined,
      onFinish: (request) => collected[request.tag as number]!.add(request),
    },
    contextMax: 4_096,
  });
  let startUs = 0;
  let sent = 0;
  run.stages.forEach(({ ratePerS, durationS }, stage) => {
    const count = Math.round(ratePerS * durationS * rule.share);
    for (let i = 0; i < count; i += 1) {
      const shape = shapeOf(run, sent % run.prompts);
      clock.at(Math.round(startUs + (i * 1e6) / ratePerS), () => engine.submit(shape, stage));
      sent += 1;
    }
    startUs += (count * 1e6) / ratePerS;
  });
  clock.runSync();
  return collected.map((times) => times.figures());
}

/** The blocks of the system prompt have the name of its group, the others that of the prompt. */
export function shapeOf(run: ServedRun, prompt: number): RequestShape {
  const { promptTokens, outputTokens, systemPrompts, systemTokens } = run;
  const blocks = Math.ceil(promptTokens / BLOCK_TOKENS);
  const shared = Math.floor(systemTokens / BLOCK_TOKENS);
  const prefixIds = Array.from({ length: blocks }, (_, i) =>
    i < shared ? 1 + i * 100 + (prompt % systemPrompts) : 1e6 + prompt * 1_000 + i,
  );
  return { promptTokens, outputTokens, prefixIds };
}

class StageTimes {
  readonly #ttftMs: number[] = [];
  readonly #e2eMs: number[] = [];
  readonly #itlMs: number[] = [];

  add({ arrivedUs, firstTokenUs, lastTokenUs, outputTokens }: EngineRequest): void {
    this.#ttftMs.push((firstTokenUs - arrivedUs) / 1e3);
    this.#e2eMs.push((lastTokenUs - arrivedUs) / 1e3);
    this.#itlMs.push((lastTokenUs - firstTokenUs) / 1e3 / (outputTokens - 1));
  }

  figures(): StageFigures {
    return {
      e2eMean: mean(this.#e2eMs),
      e2eP99: interpolatedQuantile(this.#e2eMs, 0.99),
      ttftMean: mean(this.#ttftMs),
      ttftP99: interpolatedQuantile(this.#ttftMs, 0.99),
      itlMean: mean(this.#itlMs),
    };
  }
}

/** With what a request costs outside the engine (client, HTTP, tokeniser), once. */
export function seenByClient(figures: StageFigures, requestOverheadMs: number): StageFigures {
  return {
    e2eMean: figures.e2eMean + requestOverheadMs,
    e2eP99: figures.e2eP99 + requestOverheadMs,
    ttftMean: figures.ttftMean + requestOverheadMs,
    ttftP99: figures.ttftP99 + requestOverheadMs,
    itlMean: figures.itlMean,
  };
}
