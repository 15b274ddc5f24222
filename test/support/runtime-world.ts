/** A turn in simulated time: a message of a model that streams in, and tools that take the time that they are told. */
import { SimClock } from "../../src/clock/index.ts";
import { US_PER_MS } from "../../src/core/index.ts";
import {
  type Step,
  type Tool,
  type ToolDefinition,
  Turn,
  type TurnOptions,
  tool,
} from "../../src/runtime/index.ts";
import type { DecodableFormat } from "../../src/stream/index.ts";
import { bytesOf, chatWire, delta } from "./wire-text.ts";

export type RunLog = { readonly name: string; readonly args: unknown; readonly atMs: number }[];

export interface World {
  readonly clock: SimClock;
  /** Runs in the order of their starts. */
  readonly runs: RunLog;
  readonly sleep: (ms: number, signal?: AbortSignal) => Promise<void>;
  /** A tool that logs its run, takes `ms` and answers its name. */
  readonly timed: (
    name: string,
    ms: number,
    more?: Partial<ToolDefinition<unknown, unknown>>,
  ) => Tool;
  readonly turn: (tools: readonly Tool[], more?: Partial<TurnOptions>) => Turn;
  readonly nowMs: () => number;
}

export function runtimeWorld(): World {
  const clock = new SimClock();
  const runs: RunLog = [];
  const nowMs = (): number => clock.nowUs() / US_PER_MS;
  const sleep = (ms: number, signal?: AbortSignal): Promise<void> =>
    clock.sleepUntil(clock.nowUs() + Math.round(ms * US_PER_MS), signal);
  const timed: World["timed"] = (name, ms, more = {}) =>
    tool<unknown, unknown>({
      name,
      effect: "pure",
      input: (value) => value,
      run: async (args, { signal }) => {
        runs.push({ name, args, atMs: nowMs() });
        await sleep(ms, signal);
        return `${name} is done`;
      },
      ...more,
    });
  const turn: World["turn"] = (tools, more = {}) => new Turn({ tools, clock, ...more });
  return { clock, runs, sleep, timed, turn, nowMs };
}

/** A fragment of a chat call. */
export function callDelta(
  index: number,
  args: string,
  opening?: { readonly id: string; readonly name: string },
): object {
  const named = { arguments: args, ...(opening !== undefined && { name: opening.name }) };
  return delta({
    tool_calls: [{ index, ...(opening !== undefined && { id: opening.id }), function: named }],
  });
}

/** A whole chat call in one chunk. */
export function wholeCall(index: number, name: string, args: unknown = {}): object {
  return callDelta(index, JSON.stringify(args), { id: `c${index}`, name });
}

export const FINISH = delta({}, "tool_calls");

/** Frames at their times in ms, each a read of its own; the stream ends with the last one. */
export function play(
  world: World,
  step: Step<DecodableFormat>,
  frames: ReadonlyArray<readonly [atMs: number, frame: unknown]>,
): void {
  for (const [atMs, frame] of frames) {
    world.clock.at(Math.round(atMs * US_PER_MS), () => step.push(bytesOf(chatWire(frame))));
  }
  const endMs = frames.at(-1)?.[0] ?? 0;
  world.clock.at(Math.round(endMs * US_PER_MS), () => step.end());
}
