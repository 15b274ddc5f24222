/** Runs a scheduler step by step without a clock: step k is planned at time k and committed at time k + 1. */
import {
  type Batch,
  EngineRequest,
  type EngineSink,
  type RequestShape,
  type Scheduler,
} from "../../src/engine/index.ts";

export interface StepRow {
  readonly step: number;
  /** Name of each member and the tokens that it computed. */
  readonly work: Readonly<Record<string, number>>;
  readonly tokens: number;
}

export class StepLog {
  readonly rows: StepRow[] = [];
  readonly finished: string[] = [];
  readonly preempted: string[] = [];
  /** Step at whose end each output of a request existed. */
  readonly outputs: Record<string, number[]> = {};
  readonly requests: Record<string, EngineRequest<string>> = {};
  readonly #scheduler: Scheduler;
  #step = 1;

  constructor(scheduler: Scheduler) {
    this.#scheduler = scheduler;
  }

  add(name: string, shape: RequestShape): EngineRequest<string> {
    const request = new EngineRequest(shape, this.#step, name);
    this.requests[name] = request;
    this.outputs[name] = [];
    this.#scheduler.enqueue(request as EngineRequest);
    return request;
  }

  /** Answers false if there was nothing to do. */
  step(): boolean {
    const batch = this.#scheduler.plan(this.#step);
    this.#scheduler.check();
    if (batch === undefined) return false;
    this.rows.push(rowOf(this.#step, batch));
    this.#scheduler.commit(batch, this.#step, this.#sink());
    this.#scheduler.check();
    this.#step += 1;
    return true;
  }

  runToEnd(stepsMax = 10_000): this {
    let steps = 0;
    while (this.step()) {
      steps += 1;
      if (steps > stepsMax) throw new Error(`no end after ${stepsMax} steps`);
    }
    return this;
  }

  get computedTokens(): number {
    return this.rows.reduce((sum, row) => sum + row.tokens, 0);
  }

  #sink(): EngineSink {
    const nameOf = (request: EngineRequest): string => request.tag as string;
    return {
      onToken: (request, atStep) => this.outputs[nameOf(request)]!.push(atStep),
      onFinish: (request) => this.finished.push(nameOf(request)),
      onPreempt: (request) => this.preempted.push(nameOf(request)),
    };
  }
}

function rowOf(step: number, batch: Batch): StepRow {
  const work: Record<string, number> = {};
  let tokens = 0;
  for (let i = 0; i < batch.size; i += 1) {
    const name = batch.requests[i]!.tag as string;
    if (name in work) throw new Error(`${name} stands twice in step ${step}`);
    work[name] = batch.newTokens[i]!;
    tokens += batch.newTokens[i]!;
  }
  return { step, work, tokens };
}
