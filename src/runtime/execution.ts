/**
 * One run of somebody else's code under a deadline. It is called in the same instant in which it is begun, and it settles
 * once: with what the code answered, or with the deadline, or when it is called off. What settles early is then watched
 * until the code has really ended, or for a grace: code that ignores its signal is given up and counted.
 *
 *     begin ─► running ─┬─ answers, throws ──────────► settled, released
 *                       └─ deadline, called off ─► settled ─┬─ ends within the grace ─► released "obeyed"
 *                                                           └─ does not ──────────────► released "abandoned" (… late)
 */
import type { Cancel, Clock } from "../clock/index.ts";
import type { ChildOptions, Deadline } from "./deadline.ts";

export type Ending =
  | { readonly kind: "value"; readonly value: unknown }
  | { readonly kind: "threw"; readonly error: unknown }
  /** `turn`: not its own limit, but that of what it belongs to. */
  | { readonly kind: "timeout"; readonly by: "own" | "turn" }
  | { readonly kind: "cancelled"; readonly why: string };

/** How the code let go of what it held. */
export type Release = "ended" | "obeyed" | "abandoned";

export interface ExecutionHooks {
  readonly run: (deadline: Deadline) => unknown;
  /** Once; before `begin` returns if the code answers or throws at once. */
  readonly settled: (ending: Ending) => void;
  /** Once, after `settled`. */
  readonly released?: (how: Release) => void;
  /** What the code said in the end, if it was cut short; never, if it never ends. */
  readonly ended?: (ending: Ending) => void;
}

/** For code that is called off: long enough to close a socket. */
export const GRACE_US = 20_000;

export class Execution {
  readonly #clock: Clock;
  readonly #hooks: ExecutionHooks;
  readonly #deadline: Deadline;
  readonly #parent: Deadline;
  readonly #graceUs: number;
  #state: "new" | "running" | "leaving" | "released" = "new";
  #hasEnded = false;
  #why = "called off";
  #cancelGrace: Cancel | undefined;

  constructor(
    parent: Deadline,
    limits: Pick<ChildOptions, "within"> & { readonly graceUs?: number },
    hooks: ExecutionHooks,
  ) {
    this.#clock = parent.clock;
    this.#parent = parent;
    this.#hooks = hooks;
    this.#graceUs = limits.graceUs ?? GRACE_US;
    this.#deadline = parent.child(limits.within === undefined ? {} : { within: limits.within });
  }

  begin(): void {
    if (this.#state !== "new") return;
    this.#state = "running";
    if (this.#deadline.isOver) {
      this.#hasEnded = true;
      this.#cut();
      return;
    }
    this.#deadline.signal.addEventListener("abort", () => this.#cut(), { once: true });
    let answer: unknown;
    let then: unknown;
    try {
      answer = this.#hooks.run(this.#deadline);
      then = isThenable(answer);
    } catch (error) {
      this.#end({ kind: "threw", error });
      return;
    }
    if (then !== true) {
      this.#end({ kind: "value", value: answer });
      return;
    }
    Promise.resolve(answer).then(
      (value) => this.#end({ kind: "value", value }),
      (error: unknown) => this.#end({ kind: "threw", error }),
    );
  }

  /** @param why for the result; nothing happens if it has settled. */
  cancel(why: string): void {
    if (this.#state === "new") {
      this.#state = "running";
      this.#hasEnded = true;
    }
    if (this.#state !== "running") return;
    this.#why = why;
    this.#deadline.cancel(new DOMException(why, "AbortError"));
    this.#cut();
  }

  #cut(): void {
    if (this.#state !== "running") return;
    this.#state = "leaving";
    const ending: Ending = this.#deadline.isPast
      ? { kind: "timeout", by: this.#deadline.atUs < this.#parent.atUs ? "own" : "turn" }
      : { kind: "cancelled", why: this.#parent.isOver ? "the turn has ended" : this.#why };
    this.#hooks.settled(ending);
    if (this.#hasEnded) {
      this.#release("obeyed");
      return;
    }
    const giveUpUs = this.#clock.nowUs() + this.#graceUs;
    this.#cancelGrace = this.#clock.at(giveUpUs, () => this.#release("abandoned"));
  }

  #end(ending: Ending): void {
    this.#hasEnded = true;
    const wasRunning = this.#state === "running";
    if (wasRunning) {
      this.#state = "leaving";
      this.#deadline.close();
      this.#hooks.settled(ending);
    }
    this.#release(wasRunning ? "ended" : "obeyed");
    this.#hooks.ended?.(ending);
  }

  #release(how: Release): void {
    if (this.#state === "released") return;
    this.#state = "released";
    this.#cancelGrace?.();
    this.#hooks.released?.(how);
  }
}

function isThenable(value: unknown): boolean {
  return typeof (value as { then?: unknown } | null | undefined)?.then === "function";
}
