/**
 * A fan-out as a pure state machine: which branches begin, which get a second attempt, when what is there is enough, who
 * is called off then. No I/O, no timer: a driver tells it what has happened and does what it says.
 *
 *     start ─► all branches begin ─┬─ enough ──────────────────────► cancel the losers, finish "joined"
 *                                  ├─ deadline, partial ───────────► cancel, finish "partial"
 *                                  ├─ a required one fails ────────► cancel, finish "failed"
 *                                  └─ late, and a hedge is allowed ─► one more attempt of it
 *
 * Invariants: one `finish`, and nothing after it; when it comes nothing is out; a branch has at most two attempts, and its
 * result is that of the first that succeeds.
 */
import { assert } from "../../core/index.ts";
import type { JoinDecision, JoinEnding } from "./join-decision.ts";
import type { JoinBranch, JoinPolicy, StragglerHedge } from "./join-policy.ts";

export type BranchState = "open" | "ok" | "failed" | "cancelled";

interface Branch extends JoinBranch {
  state: BranchState;
  /** Attempts that are out. */
  readonly out: Set<number>;
  attempts: number;
  hedgeAtUs: number;
  wasLate: boolean;
  endUs: number | null;
}

export interface BranchReport {
  readonly name: string;
  readonly state: BranchState;
  readonly attempts: number;
  /** µs from the start, when it succeeded, failed or was called off; null while it is open. */
  readonly endUs: number | null;
}

export class Join {
  readonly #policy: JoinPolicy;
  readonly #hedge: StragglerHedge | undefined;
  readonly #branches: readonly Branch[];
  readonly #startUs: number;
  #out: JoinDecision[] = [];
  #ending: JoinEnding | undefined;
  #endUs: number | null = null;
  #hedges = 0;

  constructor(
    policy: JoinPolicy,
    branches: readonly JoinBranch[],
    nowUs: number,
    hedge?: StragglerHedge,
  ) {
    const k = policy.join === "all" ? 1 : policy.join.k;
    assert(branches.length > 0, "a fan-out has branches");
    assert(Number.isInteger(k) && k >= 1 && k <= branches.length, "k is 1 to the branches");
    this.#policy = policy;
    this.#hedge = hedge;
    this.#startUs = nowUs;
    this.#branches = branches.map((branch) => ({
      ...branch,
      state: "open",
      out: new Set(),
      attempts: 0,
      hedgeAtUs: Number.POSITIVE_INFINITY,
      wasLate: false,
      endUs: null,
    }));
  }

  get ending(): JoinEnding | undefined {
    return this.#ending;
  }

  get hedges(): number {
    return this.#hedges;
  }

  get branches(): readonly BranchReport[] {
    return this.#branches.map(({ name, state, attempts, endUs }) => ({
      name,
      state,
      attempts,
      endUs: endUs === null ? null : endUs - this.#startUs,
    }));
  }

  /** When `advance` has to be called at the latest; infinite if never. */
  get dueUs(): number {
    if (this.#ending !== undefined) return Number.POSITIVE_INFINITY;
    let dueUs = this.#startUs + this.#policy.withinUs;
    for (const branch of this.#branches) {
      if (branch.state === "open") dueUs = Math.min(dueUs, branch.hedgeAtUs);
    }
    return dueUs;
  }

  /**
   * The wait that the last one has added: between the last and the second-last success that the result has waited for.
   * Null with fewer than two of them, or before the end.
   */
  get straggler(): { readonly branch: string; readonly gapUs: number } | null {
    if (this.#ending === undefined) return null;
    const ok = this.#branches.filter(({ state }) => state === "ok");
    const byEnd = ok.sort((a, b) => a.endUs! - b.endUs!);
    const [last, before] = [byEnd.at(-1), byEnd.at(-2)];
    if (last === undefined || before === undefined) return null;
    return { branch: last.name, gapUs: last.endUs! - before.endUs! };
  }

  start(): readonly JoinDecision[] {
    for (const [number, branch] of this.#branches.entries()) {
      this.#begin(number);
      const delayUs = branch.hedges ? this.#hedge?.delayUs(branch.name) : undefined;
      if (delayUs !== undefined) branch.hedgeAtUs = this.#startUs + delayUs;
    }
    return this.#take();
  }

  ok(number: number, attempt: number, nowUs: number): readonly JoinDecision[] {
    const branch = this.#ended(number, attempt);
    if (branch === undefined) return [];
    this.#close(number, "ok", nowUs);
    this.#finishIfEnough(nowUs);
    return this.#take();
  }

  failed(number: number, attempt: number, nowUs: number): readonly JoinDecision[] {
    const branch = this.#ended(number, attempt);
    if (branch === undefined || branch.out.size > 0) return [];
    this.#close(number, "failed", nowUs);
    if (branch.required) this.#finish({ kind: "failed", why: "branch", branch: number }, nowUs);
    else this.#finishIfEnough(nowUs);
    return this.#take();
  }

  advance(nowUs: number): readonly JoinDecision[] {
    if (this.#ending !== undefined) return [];
    if (nowUs >= this.#startUs + this.#policy.withinUs) this.#timeIsUp(nowUs);
    else {
      for (const [number, branch] of this.#branches.entries()) {
        if (branch.state === "open" && branch.hedgeAtUs <= nowUs) this.#hedgeBranch(number);
      }
    }
    return this.#take();
  }

  /** Whoever wanted the result is gone. */
  stop(nowUs: number): readonly JoinDecision[] {
    if (this.#ending !== undefined) return [];
    this.#finish({ kind: "failed", why: "stopped", branch: null }, nowUs);
    return this.#take();
  }

  #begin(number: number): void {
    const branch = this.#branches[number]!;
    branch.attempts += 1;
    branch.out.add(branch.attempts);
    this.#out.push({ do: "begin", branch: number, attempt: branch.attempts });
  }

  #hedgeBranch(number: number): void {
    const branch = this.#branches[number]!;
    branch.hedgeAtUs = Number.POSITIVE_INFINITY;
    branch.wasLate = true;
    this.#hedge?.note(branch.name, true);
    if (this.#hedge?.mayHedge(branch.name) !== true) return;
    this.#hedges += 1;
    this.#begin(number);
  }

  #ended(number: number, attempt: number): Branch | undefined {
    const branch = this.#branches[number]!;
    if (this.#ending !== undefined || branch.state !== "open") return undefined;
    return branch.out.delete(attempt) ? branch : undefined;
  }

  #close(number: number, state: BranchState, nowUs: number): void {
    const branch = this.#branches[number]!;
    branch.state = state;
    branch.endUs = nowUs;
    if (state === "ok" && !branch.wasLate) this.#hedge?.note(branch.name, false);
    // A branch that was rescued, or called off late, counts with the time it is known to have taken at least: left out,
    // the slow ones would be forgotten, and what is late would come ever sooner.
    if (state === "ok" || (state === "cancelled" && branch.wasLate)) {
      this.#hedge?.record(branch.name, nowUs - this.#startUs);
    }
    for (const attempt of branch.out) this.#out.push({ do: "cancel", branch: number, attempt });
    branch.out.clear();
  }

  #finishIfEnough(nowUs: number): void {
    const ok = this.#count("ok");
    const open = this.#count("open");
    const { join, partial } = this.#policy;
    const k = join === "all" ? 1 : join.k;
    // The deadline of a partial join is for whoever is optional; and with none that is required, `all` waits for every branch.
    const waitsForAll = partial || !this.#branches.some(({ required }) => required);
    if (ok + open < k) this.#finish({ kind: "failed", why: "too-few", branch: null }, nowUs);
    else if (this.#isMissing || ok < k) return;
    else if (join !== "all" || open === 0 || !waitsForAll) this.#finish({ kind: "joined" }, nowUs);
  }

  #timeIsUp(nowUs: number): void {
    const isUsable = this.#policy.partial && !this.#isMissing && this.#count("ok") > 0;
    if (isUsable) this.#finish({ kind: "partial" }, nowUs);
    else this.#finish({ kind: "failed", why: "deadline", branch: null }, nowUs);
  }

  #finish(ending: JoinEnding, nowUs: number): void {
    if (this.#ending !== undefined) return;
    for (const [number, branch] of this.#branches.entries()) {
      if (branch.state === "open") this.#close(number, "cancelled", nowUs);
    }
    this.#ending = ending;
    this.#endUs = nowUs;
    this.#out.push({ do: "finish", ending });
  }

  /** µs from the start; null before the end. */
  get wallUs(): number | null {
    return this.#endUs === null ? null : this.#endUs - this.#startUs;
  }

  get #isMissing(): boolean {
    return this.#branches.some(({ required, state }) => required && state !== "ok");
  }

  #count(state: BranchState): number {
    return this.#branches.filter((branch) => branch.state === state).length;
  }

  #take(): readonly JoinDecision[] {
    const out = this.#out;
    this.#out = [];
    return out;
  }
}
