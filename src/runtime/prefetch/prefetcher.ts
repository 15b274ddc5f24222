/**
 * Likely tools begin while the model thinks: by rules, or by what was learnt from recorded turns, within a budget. One for
 * all turns of an agent, since what a guess is worth shows over many of them.
 *
 *     const prefetcher = new Prefetcher({
 *       tools,
 *       rules: [{ tool: "orders", args: ({ input }) => ({ user: input.user }) }],
 *       budget: { concurrency: 2, wasteShare: 0.1 },
 *     });
 *     const turn = new Turn({ tools, prefetch: prefetcher, input: { user: "u1" } });
 */
import { ManxError, nearestName } from "../../core/index.ts";
import {
  type LoggedTurn,
  minerOf,
  modelOf,
  PatternMiner,
  type PrefetchBudget,
  type PrefetchForecast,
  type PrefetchModel,
  type PrefetchRule,
  replayPrefetch,
  ruleName,
  turnLog,
} from "../../policy/prefetch/index.ts";
import type { DispatchScope } from "../dispatch-scope.ts";
import { spanUs, type TimeSpan } from "../time-span.ts";
import type { Tool } from "../tool.ts";
import { ToolBox } from "../tool-box.ts";
import { PrefetchDesk } from "./prefetch-desk.ts";
import { type PrefetchReport, reportOf } from "./prefetch-report.ts";
import { TurnPrefetch } from "./turn-prefetch.ts";

export interface PrefetcherOptions {
  /** Those of the turns; only those that say `prefetch` are ever started. */
  readonly tools: ToolBox | readonly Tool[];
  readonly rules?: readonly PrefetchRule[];
  /** As `Prefetcher.learn` has made it, or its JSON. */
  readonly learned?: PrefetchModel | string;
  /** Go on learning from each turn, from `learned` or from nothing. Default: not. */
  readonly learns?: boolean;
  readonly budget?: PrefetchBudget;
  /** How long a result may wait for the call that asks for it. Default 10 s. */
  readonly fresh?: TimeSpan;
  /** Told each turn when it is over, such as to log it for `learn`. It holds arguments and results: mind what is in them. */
  readonly onTurn?: (turn: LoggedTurn) => void;
}

export interface LearnedPrefetch {
  readonly model: PrefetchModel;
  /** Turns that were learnt from, and lines that are none. */
  readonly turns: number;
  readonly setAside: number;
}

const FRESH_US = 10_000_000;
const RULES_MAX = 1_000;

export class Prefetcher {
  readonly #desk: PrefetchDesk;
  readonly #miner: PatternMiner | undefined;

  /**
   * @throws MANX_TOOL_INVALID for a rule whose tool is not there, changes something or does not say `prefetch`, for arguments
   *   that do not fit, for a budget that cannot be; MANX_PREFETCH_MODEL; MANX_DURATION.
   */
  constructor(options: PrefetcherOptions) {
    const { rules = [], learned, learns = false, budget = {}, fresh, onTurn } = options;
    checkRules(rules, boxOf(options.tools));
    this.#miner =
      learned !== undefined ? minerOf(learned) : learns ? new PatternMiner() : undefined;
    const freshUs = fresh === undefined ? FRESH_US : spanUs(fresh, "fresh");
    this.#desk = new PrefetchDesk({ rules, miner: this.#miner, learns, budget, freshUs, onTurn });
  }

  get report(): PrefetchReport {
    return reportOf(this.#desk);
  }

  /** What has been learnt so far, for another process; undefined if nothing learns here. */
  get learned(): PrefetchModel | undefined {
    return this.#miner === undefined ? undefined : modelOf(this.#miner);
  }

  /** For `Turn`. */
  begin(scope: DispatchScope, input: unknown): TurnPrefetch {
    return new TurnPrefetch(this.#desk, scope, input);
  }

  /** @param log lines of JSON or parsed, a turn each: as `onTurn` tells them, or turn documents with arguments. */
  static learn(log: Iterable<unknown>): LearnedPrefetch {
    const miner = new PatternMiner();
    const { turns, counts } = turnLog(log);
    for (const turn of turns) miner.learn(turn);
    return { model: modelOf(miner), turns: counts.turns, setAside: counts.setAside };
  }
}

/**
 * What a prefetcher with these options would have done to recorded turns, before it is turned on. With `learns` each turn is
 * guessed first and learnt from afterwards, so that a log serves for both. @throws as `Prefetcher`
 */
export function evaluatePrefetch(
  log: Iterable<unknown>,
  options: Omit<PrefetcherOptions, "fresh" | "onTurn">,
): PrefetchForecast {
  const { rules = [], learned, learns = false, budget = {} } = options;
  const box = boxOf(options.tools);
  checkRules(rules, box);
  const tools = new Map<string, { resource: string; cost: number }>();
  for (const name of box.names) {
    const { resource, prefetch } = box.get(name)!;
    if (prefetch !== undefined) tools.set(name, { resource, cost: prefetch.cost });
  }
  const miner = learned === undefined ? {} : { miner: minerOf(learned) };
  return replayPrefetch(log, { tools, rules, learns, budget, ...miner });
}

function boxOf(tools: ToolBox | readonly Tool[]): ToolBox {
  return tools instanceof ToolBox ? tools : new ToolBox(tools);
}

function checkRules(rules: readonly PrefetchRule[], tools: ToolBox): void {
  if (rules.length > RULES_MAX) {
    throw invalid("rules", `at most ${RULES_MAX} rules`, String(rules.length));
  }
  for (const [i, rule] of rules.entries()) checkRule(rule, ruleName(rule, i), tools);
}

function checkRule(rule: PrefetchRule, where: string, tools: ToolBox): void {
  const { tool: name, args, probability = 0.5 } = rule;
  const tool = tools.get(name);
  if (tool === undefined) {
    const near = nearestName(String(name), tools.names);
    const hint = near === undefined ? undefined : `did you mean "${near}"?`;
    throw invalid(where, `one of ${tools.names.join(", ")}`, JSON.stringify(name) ?? "none", hint);
  }
  if (tool.effect !== "pure") {
    throw invalid(where, "a tool that changes nothing", `${name}, whose effect is ${tool.effect}`);
  }
  if (tool.prefetch === undefined) {
    const hint = `set prefetch: true on the tool, if a run of "${name}" in vain does no harm`;
    throw invalid(where, "a tool that may be started on a guess", name, hint);
  }
  if (!(probability >= 0 && probability <= 1)) {
    throw invalid(where, "a probability from 0 to 1", String(probability));
  }
  if (typeof args === "function") return;
  // A check that takes time is made when the guess is.
  const checked = tools.check(tool, args);
  if (!(checked instanceof Promise) && "problem" in checked) {
    throw invalid(where, `arguments that fit ${name}`, checked.problem);
  }
}

function invalid(where: string, expected: string, got: string, hint?: string): ManxError {
  return new ManxError("MANX_TOOL_INVALID", {
    what: "a rule for prefetching that cannot be",
    where,
    expected,
    got,
    hint: hint ?? "see docs/how-to/prefetch.md",
  });
}
