/**
 * Reads recorded requests one after the other and says of each where it parts from the one before it: of its own
 * conversation or, if it opens one, of its agent. Findings of one cause at one field are one group; all that grows has a bound.
 */
import {
  type ComparedPrompt,
  divergenceOf,
  layoutOf,
  type MissReason,
  missReason,
  type PromptLayout,
  promptFacts,
  promptPrice,
  providerCacheRules,
  sharedTokens,
  tellsMissReasons,
  tokensOf,
} from "../../../policy/index.ts";
import { pathText, placeInJson, stepsOf } from "./json-place.ts";
import { type LintSummary, LintTotals, type PriceOption } from "./lint-totals.ts";
import { type MarkProblem, markProblems } from "./mark-problem.ts";
import { PrefillRate } from "./prefill-rate.ts";
import { breakBetween, type FoundBreak, type PromptBreak } from "./prompt-break.ts";
import { agentName, conversationName, PromptShelf, type ShelfLimits } from "./prompt-shelf.ts";
import type { RecordedRequest } from "./recorded-request.ts";

export interface LintOptions {
  /** Tokens computed in a second, in place of what the records show. */
  readonly prefillTokensPerS?: number;
  /** In place of the list's. */
  readonly price?: PriceOption;
  /** Shows what is in prompts, secrets masked. Default false. */
  readonly showText?: boolean;
  readonly limits?: Partial<ShelfLimits>;
}

/** Where a record was read. */
export interface RecordSource {
  readonly file: string;
  /** Of its first character, from 1. */
  readonly line: number;
  /** The JSON that the record was read from. */
  readonly json: string;
}

export interface PlacedBreak extends PromptBreak {
  readonly conversation: string;
  readonly model: string;
  /** Whether the provider says `providerReason` itself if it is asked, or only does so for other models or formats. */
  readonly providerTells: boolean;
  /** `file:line:column` of what differs; of the body where that cannot be found. */
  readonly where: string;
  /** `file:line` of the request that it was compared with. */
  readonly comparedWith: string;
  readonly lostUsd: number | null;
}

export interface Linted {
  readonly found: PlacedBreak | null;
  /**
   * What the provider says if it is asked, of any difference: also of one that costs next to nothing, such as another last
   * message. null if it sees none, and of a conversation's first request.
   */
  readonly reason: MissReason | null;
  readonly problems: readonly MarkProblem[];
}

/** Half of a conversation's messages are found again: the same one, cut or begun anew. */
const SAME_SHARE = 0.5;
const SAME_MESSAGES_MIN = 3;
/** Of two system texts the longer half is the same: one template. */
const TEMPLATE_SHARE = 0.5;

export class PromptLinter {
  readonly #options: LintOptions;
  readonly #conversations: PromptShelf;
  readonly #agents: PromptShelf;
  readonly #rate: PrefillRate;
  readonly #totals: LintTotals;

  constructor(options: LintOptions = {}) {
    this.#options = options;
    this.#conversations = new PromptShelf(options.limits);
    this.#agents = new PromptShelf(options.limits);
    this.#rate = new PrefillRate(options.prefillTokensPerS ?? null);
    this.#totals = new LintTotals();
  }

  /** @returns null for a body that is no request of a known format. */
  add(request: RecordedRequest, source: RecordSource): Linted | null {
    const facts = promptFacts(request.body);
    if (facts === null) return null;
    const layout = layoutOf(request.body);
    const now: ComparedPrompt = { facts, layout };
    const agent = agentName(layout, facts);
    const own = conversationName(request.conversation, request.body, facts);
    const { before, isOther, conversation } = this.#before(now, own, agent);
    const raw =
      before === undefined
        ? null
        : breakBetween(before, now, { isOther, showText: this.#options.showText === true });
    const found =
      raw === null ? null : this.#placed(raw, request, source, conversation, before!, now);
    const problems = markProblems(request.body, facts, layout);
    this.#count(request, now, before, isOther, found, problems, source);
    const where = `${source.file}:${source.line}`;
    this.#conversations.put(conversation, { layout, facts, where, conversation });
    if (agent !== "") this.#agents.put(agent, { layout, facts, where, conversation });
    const reason = before === undefined || isOther ? null : missReason(before, now);
    return { found, reason, problems };
  }

  /** A record without a request that could be read. */
  setAside(file: string, line: number, reason: string): void {
    this.#totals.setAside(`${file}:${line}`, reason);
  }

  summary(): LintSummary {
    return this.#totals.summary(this.#rate.figure());
  }

  /** The prompt to compare with, and whether it is only of the same agent. */
  #before(now: ComparedPrompt, own: string, agent: string) {
    const before = this.#conversations.newest(own);
    if (before !== undefined) return { before, isOther: false, conversation: own };
    const other = agent === "" ? undefined : this.#agents.newest(agent);
    if (other === undefined) return { before: undefined, isOther: true, conversation: own };
    if (isSameConversation(other.layout, now.layout)) {
      return { before: other, isOther: false, conversation: other.conversation };
    }
    const isLike = isSameTemplate(other.layout, now.layout);
    return { before: isLike ? other : undefined, isOther: true, conversation: own };
  }

  #placed(
    found: FoundBreak,
    request: RecordedRequest,
    source: RecordSource,
    conversation: string,
    before: ComparedPrompt & { readonly where: string },
    now: ComparedPrompt,
  ): PlacedBreak {
    const { path, at, ...plain } = found;
    const price = this.#options.price ?? promptPrice(now.facts.model);
    const saved = price === null ? null : price.inputUsd - price.cachedUsd;
    return {
      ...plain,
      field: pathText([...fieldSteps(request, found), ...path]),
      conversation,
      model: now.facts.model,
      providerTells: tellsMissReasons(now.facts.format, now.facts.model),
      where: placeText(request, found, source),
      comparedWith: before.where,
      lostUsd: saved === null ? null : (found.lostTokens * saved) / 1_000_000,
    };
  }

  #count(
    request: RecordedRequest,
    now: ComparedPrompt,
    before: ComparedPrompt | undefined,
    isOther: boolean,
    found: PlacedBreak | null,
    problems: readonly MarkProblem[],
    source: RecordSource,
  ): void {
    const tokens = promptTokens(now.layout);
    const shared = before === undefined ? 0 : sharedTokens(before.layout, now.layout);
    const lost = found === null ? 0 : Math.min(found.lostTokens, tokens - shared);
    const { minimumTokens } = providerCacheRules(now.facts.format, now.facts.model);
    const isUncached = problems.some(({ kind }) => kind === "no_marks" || kind === "too_short");
    const isKept = !isUncached && (minimumTokens === null || shared >= minimumTokens);
    const { usage, ttftUs } = request;
    if (usage !== null && ttftUs !== null) {
      this.#rate.add(usage.promptTokens - usage.cachedTokens, ttftUs);
    }
    this.#totals.request({
      format: now.facts.format,
      model: now.facts.model,
      opensConversation: before === undefined || isOther,
      tokens,
      couldTokens: Math.min(tokens, shared + lost),
      // All of it is lost where another cache is asked.
      gotTokens: found?.keptTokens === 0 || !isKept ? 0 : shared,
      usage,
      price: this.#options.price ?? promptPrice(now.facts.model),
    });
    if (found !== null) this.#totals.found(found);
    for (const problem of problems) this.#totals.problem(problem, `${source.file}:${source.line}`);
  }
}

function promptTokens({ parts }: PromptLayout): number {
  let chars = 0;
  for (const part of parts) if (part.kind !== "setting") chars += part.chars;
  return tokensOf(chars);
}

function isSameConversation(before: PromptLayout, now: PromptLayout): boolean {
  const old = before.parts.filter(({ kind }) => kind === "message");
  if (old.length < SAME_MESSAGES_MIN) return false;
  const hashes = new Set(now.parts.map(({ hash }) => hash));
  return old.filter(({ hash }) => hashes.has(hash)).length >= old.length * SAME_SHARE;
}

function isSameTemplate(before: PromptLayout, now: PromptLayout): boolean {
  const text = ({ parts }: PromptLayout): string =>
    parts.flatMap((part) => (part.kind === "system" ? [part.text ?? ""] : [])).join("\n");
  const only = (layout: PromptLayout): PromptLayout => ({
    parts: layout.parts.filter(({ kind }) => kind !== "message"),
  });
  if (divergenceOf(only(before), only(now)) === null) return true;
  const [a, b] = [text(before), text(now)];
  const longest = Math.max(a.length, b.length);
  if (longest === 0) return true;
  const least = Math.min(a.length, b.length);
  let head = 0;
  while (head < least && a.charCodeAt(head) === b.charCodeAt(head)) head += 1;
  let tail = 0;
  while (tail < least - head && a.at(-1 - tail) === b.at(-1 - tail)) tail += 1;
  return head + tail >= longest * TEMPLATE_SHARE;
}

/** A block of text counts by its text, which has a name of its own in the body. */
function fieldSteps(request: RecordedRequest, { part }: FoundBreak): (string | number)[] {
  const steps = stepsOf(part);
  const value = valueAt(request.body, steps);
  const isBlock =
    typeof value === "object" && value !== null && (value as { type?: unknown }).type === "text";
  return isBlock ? [...steps, "text"] : steps;
}

function valueAt(body: unknown, steps: readonly (string | number)[]): unknown {
  let value = body;
  for (const step of steps) value = (value as Record<string | number, unknown> | undefined)?.[step];
  return value;
}

function placeText(request: RecordedRequest, found: FoundBreak, source: RecordSource): string {
  const steps = [...fieldSteps(request, found), ...found.path];
  const { json, file, line } = source;
  const inBody = found.isGone
    ? null
    : placeInJson(request.text ?? json, insideOf(request, steps), found.at);
  const place =
    inBody !== null && request.text !== null
      ? placeInJson(json, request.path, inBody)
      : (inBody ?? placeInJson(json, request.path));
  if (place === null) return `${file}:${line}`;
  const before = json.slice(0, place);
  const lines = before.split("\n").length - 1;
  const column = place - (before.lastIndexOf("\n") + 1) + 1;
  return `${file}:${line + lines}:${column}`;
}

/** From the root of the JSON that is looked through. */
function insideOf(request: RecordedRequest, steps: readonly (string | number)[]) {
  return request.text === null ? [...request.path, ...steps] : steps;
}
