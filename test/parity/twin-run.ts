/**
 * A recorded run of Vidur on the twin's own schedulers instead of the reference policies. They choose the steps, the
 * recording prices them. Time is the recording's seconds in doubles; a scheduler only compares times and passes them on.
 */
import {
  ContiguousKv,
  ContinuousBatcher,
  EngineRequest,
  PagedKv,
  type Scheduler,
  StaticBatcher,
} from "../../src/engine/index.ts";
import type { GoldenMeta, GoldenRun } from "./golden-run.ts";

export interface TwinParity {
  /** Steps that were the recording's: same members in the same order, same tokens. */
  readonly steps: number;
  /** Whether that was all of them. */
  readonly isWhole: boolean;
  /** Of a whole repetition: requests with another scheduled, first-token or completion time. */
  readonly otherTimes: number;
}

/** The nearest that the twin has. No rule of it is changed: no watermark, no padding, its own way to throw out. */
function twinOf(meta: GoldenMeta): Scheduler {
  const tokens = meta.num_blocks * meta.block_size;
  const sequencesMax = meta.batch_size_cap;
  const paged = () => new PagedKv(tokens, meta.block_size);
  const contiguous = () => new ContiguousKv(tokens, meta.max_tokens_per_request);
  switch (meta.scheduler) {
    case "vllm": {
      const tokensMax = meta.max_tokens_in_batch!;
      return new ContinuousBatcher(paged(), { sequencesMax, tokensMax, prompts: "whole" });
    }
    case "sarathi": {
      const tokensMax = meta.chunk_size!;
      return new ContinuousBatcher(paged(), { sequencesMax, tokensMax, prompts: "chunked" });
    }
    // Chunks as long as any prompt: whole prompts beside decodes.
    case "orca":
      return new ContinuousBatcher(contiguous(), {
        sequencesMax,
        tokensMax: tokens,
        prompts: "chunked",
      });
    case "faster_transformer":
      return new StaticBatcher(contiguous(), { sequencesMax, fillWaitUs: 0 });
  }
}

/** Repeats a run until its end, or until the first step that differs. Conservation is checked after every step. */
export function repeatOnTwin(golden: GoldenRun): TwinParity {
  const scheduler = twinOf(golden.meta);
  const requests = golden.requests.map(
    ([id, arrived, promptTokens, outputTokens]) =>
      new EngineRequest({ promptTokens, outputTokens }, arrived, id),
  );
  const sink = { onToken: () => undefined, onFinish: () => undefined };
  let now = 0;
  let arrived = 0;
  let steps = 0;
  for (;;) {
    for (; arrived < requests.length && requests[arrived]!.arrivedUs <= now; arrived += 1) {
      scheduler.enqueue(requests[arrived]! as EngineRequest);
    }
    const batch = scheduler.plan(now);
    if (batch === undefined) {
      if (arrived === requests.length) break;
      now = requests[arrived]!.arrivedUs;
      continue;
    }
    const [, ids, tokens, price] = golden.steps[steps] ?? [0, [], [], 0];
    const ours = batch.requests.map((request) => (request as EngineRequest<number>).tag);
    const isSame = isEqual(ours, ids) && isEqual(batch.newTokens, tokens);
    if (!isSame) return { steps, isWhole: false, otherTimes: Number.NaN };
    now += price;
    steps += 1;
    scheduler.commit(batch, now, sink);
    scheduler.check();
  }
  const otherTimes = golden.requests.filter((row, i) => !hasTimesOf(requests[i]!, row)).length;
  return { steps, isWhole: steps === golden.steps.length, otherTimes };
}

function hasTimesOf(request: EngineRequest<number>, row: GoldenRun["requests"][number]): boolean {
  const [, , , , scheduled, firstToken, completed] = row;
  const { scheduledUs, firstTokenUs, lastTokenUs } = request;
  return isEqual([scheduledUs, firstTokenUs, lastTokenUs], [scheduled, firstToken, completed]);
}

function isEqual(ours: readonly number[], theirs: readonly number[]): boolean {
  return ours.length === theirs.length && ours.every((value, i) => value === theirs[i]);
}
