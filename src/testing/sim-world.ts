/**
 * A world in which an agent runs in simulated time: models that stream, tools that take a while, turns that are recorded. A
 * thousand turns of half a minute take a second or two, and come out the same for the same seed.
 *
 *     const world = new SimWorld();
 *     const search = world.tool({ name: "search", effect: "pure", takes: "800ms" });
 *     const model = world.model([{ calls: [{ name: "search", args: {} }], ttft: "500ms", gap: "20ms" }, { text: "Done." }]);
 *     await world.run(() => agent(model.fetch, [search]));
 *
 * The agent's code has to take the world's clock, and wait for nothing outside of it.
 */
import { Random, SimClock } from "../clock/index.ts";
import { formatUs, ManxError, parseDurationUs } from "../core/index.ts";
import {
  type TimeSpan,
  type Tool,
  type ToolDefinition,
  Turn,
  type TurnOptions,
  tool,
} from "../runtime/index.ts";
import { TurnRecorder } from "../trace/index.ts";
import type { ReplyScript } from "./asked.ts";
import { ScriptedModel } from "./scripted-model.ts";
import type { ScriptedReply } from "./scripted-reply.ts";

export interface SimWorldOptions {
  /** Of all chance in it. Default 1. */
  readonly seed?: number;
}

type Definition<Args, Result> = Omit<ToolDefinition<Args, Result>, "run" | "input">;

export interface SimToolDefinition<Args, Result> extends Definition<Args, Result> {
  /** Default: takes whatever comes. */
  readonly input?: ToolDefinition<Args, Result>["input"];
  /** How long a run takes; a function is asked for each. It ends early if it is called off. */
  readonly takes?: TimeSpan | (() => TimeSpan);
  /** What it does after that time. Default: answers its name. */
  readonly run?: ToolDefinition<Args, Result>["run"];
}

export class SimWorld {
  readonly clock = new SimClock();
  /** For whatever a test draws. */
  readonly random: Random;
  readonly #ids: Random;

  constructor({ seed = 1 }: SimWorldOptions = {}) {
    this.random = new Random(seed, "simulated world");
    this.#ids = new Random(seed, "ids of a simulated world");
  }

  tool<Args = unknown, Result = unknown>(definition: SimToolDefinition<Args, Result>): Tool {
    const { takes = 0, run, input, ...rest } = definition;
    return tool<Args, Result>({
      // What takes anything has to tell a model so: adapters declare each tool.
      ...(input === undefined && { schema: { type: "object" } }),
      ...rest,
      input: input ?? ((value: unknown) => value as Args),
      run: async (args, context) => {
        await this.sleep(typeof takes === "function" ? takes() : takes, context.signal);
        return run === undefined ? (`${rest.name} is done` as Result) : run(args, context);
      },
    });
  }

  model(script: ReplyScript<ScriptedReply>): ScriptedModel {
    return new ScriptedModel(script, this.clock);
  }

  /** Records one turn, with ids that are the same each time. */
  recorder(name = "turn"): TurnRecorder {
    const bytes = (count: number): Uint8Array =>
      Uint8Array.from({ length: count }, () => this.#ids.int(256));
    return new TurnRecorder({ clock: this.clock, name, bytes });
  }

  turn(options: Omit<TurnOptions, "clock">): Turn {
    return new Turn({ ...options, clock: this.clock });
  }

  /** Rejects with the signal's reason. */
  sleep(time: TimeSpan, signal?: AbortSignal): Promise<void> {
    const us = typeof time === "string" ? parseDurationUs(time, "sleep") : Math.round(time);
    return this.clock.sleepUntil(this.clock.nowUs() + us, signal);
  }

  /**
   * Lets time pass until the work has ended.
   * @throws what the work throws; MANX_SIM_STUCK if it waits for something that is not in this world.
   */
  async run<Result>(work: () => Result | Promise<Result>): Promise<Result> {
    const { clock } = this;
    const startUs = clock.nowUs();
    const ended: { done?: { readonly value: Result } | { readonly thrown: unknown } } = {};
    void (async () => work())().then(
      (value) => {
        ended.done = { value };
      },
      (thrown: unknown) => {
        ended.done = { thrown };
      },
    );
    for (;;) {
      await clock.run(clock.nowUs());
      const { done } = ended;
      if (done !== undefined) {
        if ("thrown" in done) throw done.thrown;
        return done.value;
      }
      if (!clock.step()) {
        throw new ManxError("MANX_SIM_STUCK", {
          where: `${formatUs(clock.nowUs() - startUs)} after its start`,
        });
      }
    }
  }
}
