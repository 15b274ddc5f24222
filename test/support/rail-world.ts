/** Rails and a model in simulated time: what a guarded call shows, when, and what is left running. */
import { SimClock } from "../../src/clock/index.ts";
import type {
  GuardedAnswer,
  GuardReport,
  Rail,
  RailAnswer,
  RailOptions,
} from "../../src/runtime/index.ts";
import { rail } from "../../src/runtime/index.ts";
import type { StreamEvent } from "../../src/stream/index.ts";

const MS = 1_000;

export interface Scripted extends RailOptions {
  readonly verdict?: unknown;
  /** Infinite: it never answers. */
  readonly afterMs?: number;
  readonly throws?: boolean;
  readonly ignoresSignal?: boolean;
}

export interface RailLog {
  readonly checked: { readonly rail: string; readonly text: string; readonly atMs: number }[];
  readonly aborted: { readonly rail: string; readonly atMs: number }[];
}

/** A rail that says what it is told to, after the time that it is told. */
export function scriptedRail(clock: SimClock, log: RailLog, script: Scripted): Rail {
  const { verdict = "clean", afterMs = 0, throws = false, ignoresSignal = false } = script;
  return rail({
    ...script,
    check: async (text, { signal }): Promise<RailAnswer["verdict"]> => {
      const nowMs = (): number => clock.nowUs() / MS;
      log.checked.push({ rail: script.name, text, atMs: nowMs() });
      signal.addEventListener("abort", () => {
        log.aborted.push({ rail: script.name, atMs: nowMs() });
      });
      const answer = typeof verdict === "function" ? verdict(text) : verdict;
      if (!Number.isFinite(afterMs)) await new Promise(() => {});
      const untilUs = clock.nowUs() + afterMs * MS;
      await clock.sleepUntil(untilUs, ignoresSignal ? undefined : signal);
      if (throws) throw new Error("the rail is broken");
      return answer;
    },
  });
}

/** Pieces at their times in ms; obeys its signal, and notes when it was told. */
export async function* timedSource<Item>(
  clock: SimClock,
  items: ReadonlyArray<readonly [atMs: number, item: Item]>,
  signal?: AbortSignal,
): AsyncGenerator<Item, void, undefined> {
  const startUs = clock.nowUs();
  for (const [atMs, item] of items) {
    await clock.sleepUntil(startUs + atMs * MS, signal);
    yield item;
  }
}

export interface Seen {
  readonly events: { readonly event: StreamEvent; readonly atMs: number }[];
  text: string;
  firstTextMs: number | null;
  endMs: number | null;
  error: unknown;
  report: GuardReport | undefined;
}

/** Reads an answer to its end; to be looked at when the clock has run. */
export function watch(clock: SimClock, answer: GuardedAnswer): Seen {
  const seen: Seen = {
    ...{ events: [], text: "", firstTextMs: null, endMs: null },
    ...{ error: undefined, report: undefined },
  };
  const read = async (): Promise<void> => {
    try {
      for await (const event of answer) {
        const atMs = clock.nowUs() / MS;
        seen.events.push({ event, atMs });
        if (event.type !== "text-delta" || event.text === "") continue;
        seen.text += event.text;
        seen.firstTextMs ??= atMs;
      }
    } catch (error) {
      seen.error = error;
    }
    seen.endMs = clock.nowUs() / MS;
  };
  void read();
  void answer.outcome.then((report) => {
    seen.report = report;
  });
  return seen;
}

export function railWorld(): { readonly clock: SimClock; readonly log: RailLog } {
  return { clock: new SimClock(), log: { checked: [], aborted: [] } };
}
