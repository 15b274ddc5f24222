/**
 * Runs branches beside each other and joins them: drives `Join` of `policy` with real code. Losers are called off and
 * watched until they have ended; `adviseFanOut` says whether it was worth it.
 *
 *     const { values } = await fanOut(
 *       { papers: searchPapers, web: { run: searchWeb, required: false }, notes: searchNotes },
 *       { join: { deadline: "2s", partial: true }, hedge: stragglers },
 *     );
 */
import { type Cancel, type Clock, realClock } from "../../clock/index.ts";
import { ManxError } from "../../core/index.ts";
import {
  type BranchReport,
  Join,
  type JoinDecision,
  type JoinEnding,
  type JoinPolicy,
  type StragglerHedge,
} from "../../policy/join/index.ts";
import { NO_SPAN, type OpenSpan, type RecordedKind } from "../../trace/index.ts";
import { Deadline } from "../deadline.ts";
import { endSpan } from "../end-span.ts";
import { type Ending, Execution, GRACE_US, type Release } from "../execution.ts";
import { spanUs, type TimeSpan } from "../time-span.ts";

/** @param span the attempt's own, in the fan-out's `trace`. */
export type BranchCode = (deadline: Deadline, span: OpenSpan) => unknown;

export interface FanOutBranch {
  readonly run: BranchCode;
  /** Default: yes with `join: "all"` and with `partial: false`, no otherwise. */
  readonly required?: boolean;
  /** May be run twice at once: it changes nothing. Default true if `hedge` is set. */
  readonly hedges?: boolean;
  /** Of its span. Default `orchestration`: the agent's own work. */
  readonly kind?: RecordedKind;
}

export interface FanOutOptions {
  /**
   * `all` (default): every required branch. `{ k }`: that many, whichever. `{ deadline, partial }`: what is there by then;
   * with `partial: false` it has to be every branch that does not say `required: false`.
   */
  readonly join?:
    | "all"
    | { readonly k: number }
    | { readonly deadline: TimeSpan; readonly partial?: boolean };
  /** One `StragglerPolicy` for all fan-outs of a kind, or a fixed delay. */
  readonly hedge?: StragglerHedge | { readonly after: TimeSpan };
  /** Of the turn. At its end what is there counts, if the join is partial. */
  readonly deadline?: TimeSpan | Deadline;
  readonly signal?: AbortSignal;
  /** For code that ignores its signal. Default 20 ms. */
  readonly grace?: TimeSpan;
  /** What a span of each branch hangs on, such as `turn.trace`. Default: none is recorded. */
  readonly trace?: OpenSpan;
  readonly clock?: Clock;
}

export interface FanOutResult {
  /** Of the branches that are in. */
  readonly values: Readonly<Record<string, unknown>>;
  /** The deadline came before all that was asked for. */
  readonly isPartial: boolean;
  readonly branches: readonly BranchReport[];
  readonly wallUs: number;
  /** Who came last, and how much later than the one before. */
  readonly straggler: { readonly branch: string; readonly gapUs: number } | null;
  readonly hedges: number;
  /** What became of the attempts that were called off, once it is known. */
  readonly losers: Promise<{ readonly obeyed: number; readonly abandoned: number }>;
}

/** A fan-out of more is a queue. */
const BRANCHES_MAX = 1_000;

/**
 * @throws MANX_TOOL_INVALID for branches or options that cannot be; MANX_FAN_OUT_FAILED, with what the branch threw as
 *   its cause and the branches' states as details, if there is no result.
 */
export async function fanOut(
  branches: Readonly<Record<string, BranchCode | FanOutBranch>>,
  options: FanOutOptions = {},
): Promise<FanOutResult> {
  return new FanOut(branches, options).result;
}

interface BranchRun {
  readonly execution: Execution;
  readonly span: OpenSpan;
}

class FanOut {
  readonly result: Promise<FanOutResult>;
  readonly #branches: readonly (readonly [name: string, branch: FanOutBranch])[];
  readonly #deadline: Deadline;
  readonly #join: Join;
  readonly #graceUs: number;
  readonly #trace: OpenSpan;
  readonly #executions = new Map<string, BranchRun>();
  readonly #values: Record<string, unknown> = {};
  readonly #errors = new Map<number, unknown>();
  readonly #losers = { obeyed: 0, abandoned: 0 };
  #open = 0;
  #cancelTimer: Cancel | undefined;
  #resolve: (result: FanOutResult) => void = () => {};
  #reject: (error: unknown) => void = () => {};
  #resolveLosers: (losers: { obeyed: number; abandoned: number }) => void = () => {};

  constructor(
    branches: Readonly<Record<string, BranchCode | FanOutBranch>>,
    options: FanOutOptions,
  ) {
    this.#branches = Object.entries(branches).map(([name, one]) => [
      name,
      typeof one === "function" ? { run: one } : one,
    ]);
    const { deadline = Number.POSITIVE_INFINITY, hedge } = options;
    const { clock = realClock, signal } = options;
    this.#deadline = Deadline.from(deadline, { clock, signal });
    this.#trace = options.trace ?? NO_SPAN;
    this.#graceUs = options.grace === undefined ? GRACE_US : spanUs(options.grace, "grace");
    const policy = policyOf(options, this.#branches.length, this.#deadline.leftUs);
    const isAll = wantsAll(options.join);
    const declared = this.#branches.map(([name, { required = isAll, hedges = true }]) => {
      return { name, required, hedges };
    });
    this.#join = new Join(policy, declared, this.#clock.nowUs(), hedgeOf(hedge));
    this.result = new Promise((resolve, reject) => {
      this.#resolve = resolve;
      this.#reject = reject;
    });
    this.#deadline.signal.addEventListener("abort", () => this.#called(), { once: true });
    this.#obey(this.#join.start());
    if (this.#deadline.isOver) this.#called();
  }

  get #clock(): Clock {
    return this.#deadline.clock;
  }

  #obey(decisions: readonly JoinDecision[]): void {
    for (const decision of decisions) {
      if (decision.do === "finish") this.#finish(decision.ending);
      else if (decision.do === "begin") this.#begin(decision.branch, decision.attempt);
      else this.#cancel(decision);
    }
    this.#cancelTimer?.();
    const { dueUs } = this.#join;
    if (Number.isFinite(dueUs)) {
      this.#cancelTimer = this.#clock.at(dueUs, () =>
        this.#obey(this.#join.advance(this.#clock.nowUs())),
      );
    }
  }

  #cancel(attempt: { branch: number; attempt: number }): void {
    const run = this.#executions.get(keyOf(attempt));
    // Up to the deadline of a partial join it was waited for.
    if (this.#join.ending?.kind !== "partial") run?.span.detach();
    run?.execution.cancel("nobody waits for it any more");
  }

  #begin(branch: number, attempt: number): void {
    if (this.#join.ending !== undefined) return;
    const [name, { run, kind = "orchestration" }] = this.#branches[branch]!;
    const span = this.#trace.begin(kind, name);
    const execution = new Execution(
      this.#deadline,
      { graceUs: this.#graceUs },
      {
        run: (deadline) => run(deadline, span),
        settled: (ending) => {
          endSpan(span, ending);
          this.#settled(name, branch, attempt, ending);
        },
        released: (how) => this.#released(how),
      },
    );
    this.#executions.set(keyOf({ branch, attempt }), { execution, span });
    this.#open += 1;
    execution.begin();
  }

  #settled(name: string, branch: number, attempt: number, ending: Ending): void {
    const nowUs = this.#clock.nowUs();
    if (ending.kind === "value") {
      const before = this.#join.branches[branch]?.state;
      if (this.#join.ending === undefined && before === "open") this.#values[name] = ending.value;
      this.#obey(this.#join.ok(branch, attempt, nowUs));
      return;
    }
    if (ending.kind === "threw") this.#errors.set(branch, ending.error);
    // At the last instant the deadline speaks first: what is there may do.
    if (ending.kind === "timeout") this.#obey(this.#join.advance(nowUs));
    this.#obey(this.#join.failed(branch, attempt, nowUs));
  }

  #released(how: Release): void {
    if (how !== "ended") this.#losers[how] += 1;
    this.#open -= 1;
    if (this.#open === 0 && this.#join.ending !== undefined) this.#resolveLosers(this.#losers);
  }

  /** The turn is over: at its deadline what is there may count, otherwise nothing does. */
  #called(): void {
    const nowUs = this.#clock.nowUs();
    if (this.#deadline.isPast) this.#obey(this.#join.advance(nowUs));
    this.#obey(this.#join.stop(nowUs));
  }

  #finish(ending: JoinEnding): void {
    const { branches, wallUs, straggler, hedges } = this.#join;
    const losers = new Promise<{ obeyed: number; abandoned: number }>((resolve) => {
      this.#resolveLosers = resolve;
    });
    if (this.#open === 0) this.#resolveLosers(this.#losers);
    if (ending.kind === "failed") {
      this.#reject(failure(ending, branches, this.#errors));
    } else {
      const isPartial = ending.kind === "partial";
      const values = this.#values;
      this.#resolve({ values, isPartial, branches, wallUs: wallUs!, straggler, hedges, losers });
    }
    this.#deadline.close();
  }
}

function keyOf({ branch, attempt }: { branch: number; attempt: number }): string {
  return `${branch}/${attempt}`;
}

function policyOf(options: FanOutOptions, branches: number, leftUs: number): JoinPolicy {
  const { join = "all" } = options;
  if (branches === 0 || branches > BRANCHES_MAX) {
    throw invalid(`1 to ${BRANCHES_MAX} branches`, String(branches));
  }
  if (join === "all") return { join, withinUs: leftUs, partial: false };
  if ("k" in join) {
    if (!Number.isInteger(join.k) || join.k < 1 || join.k > branches) {
      throw invalid(`k from 1 to ${branches}`, String(join.k));
    }
    return { join, withinUs: leftUs, partial: false };
  }
  const withinUs = Math.min(spanUs(join.deadline, "join.deadline"), leftUs);
  return { join: "all", withinUs, partial: join.partial ?? true };
}

/** Whether a branch that does not say is required. */
function wantsAll(join: FanOutOptions["join"] = "all"): boolean {
  return join === "all" || ("deadline" in join && join.partial === false);
}

function hedgeOf(hedge: FanOutOptions["hedge"]): StragglerHedge | undefined {
  if (hedge === undefined || !("after" in hedge)) return hedge;
  const delayUs = spanUs(hedge.after, "hedge.after");
  return { delayUs: () => delayUs, mayHedge: () => true, note: () => {}, record: () => {} };
}

function failure(
  ending: JoinEnding & { kind: "failed" },
  branches: readonly BranchReport[],
  errors: ReadonlyMap<number, unknown>,
): ManxError {
  const failed = ending.branch ?? [...errors.keys()][0];
  const name = ending.branch === null ? undefined : branches[ending.branch]?.name;
  const whats: Readonly<Record<typeof ending.why, string>> = {
    branch: `the branch ${JSON.stringify(name)} has failed, which is required`,
    "too-few": "too few branches can still succeed",
    deadline: "the deadline has come before what is required",
    stopped: "the fan-out was called off",
  };
  return new ManxError("MANX_FAN_OUT_FAILED", {
    what: whats[ending.why],
    details: { why: ending.why, branches },
    ...(failed !== undefined && { cause: errors.get(failed) }),
  });
}

function invalid(expected: string, got: string): ManxError {
  return new ManxError("MANX_TOOL_INVALID", {
    what: "a fan-out that cannot be",
    expected,
    got,
    hint: "see docs/how-to/fan-out.md",
  });
}
