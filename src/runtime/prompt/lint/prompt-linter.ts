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
} from "../../../policy/index.ts";
import { partTokens } from "../part-tokens.ts";
import { pathText, placeInJson, stepsOf } from "./json-place.ts";
import { type LintSummary, LintTotals, type PriceOption } from "./lint-totals.ts";
import { type MarkProblem, markProblems } from "./mark-problem.ts";
import { PrefillRate } from "./prefill-rate.ts";
import { breakBetween, type FoundBreak, type PromptBreak } from "./prompt-break.ts";
import {
  agentName,
  conversationName,
  PromptShelf,
  type ShelfLimits,
  type ShelvedPrompt,
} from "./prompt-shelf.ts";
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

interface Predecessor {
  readonly before: ShelvedPrompt | undefined;
  /** Of the agent, but of another conversation. */
  readonly isOther: boolean;
  /** Which this request belongs to. */
  readonly conversation: string;
}

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
    this.#count(request, now, { before, isOther, conversation }, found, problems);
    const where = `${source.file}:${source.line}`;
    for (const problem of problems) this.#totals.problem(problem, where);
    this.#keep({ layout, facts, where, conversation, wallMs: request.wallMs }, agent);
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

  /**
   * The prompt to compare with: the last one of this agent in the conversation, else the conversation's last one if the two
   * are one agent's (sub-agents share a session, and each has a cache of its own), else the agent's last one anywhere.
   */
  #before(now: ComparedPrompt, own: string, agent: string): Predecessor {
    const same = this.#conversations.newest(`${own} ${agent}`);
    if (same !== undefined) return { before: same, isOther: false, conversation: own };
    const latest = this.#conversations.newest(own);
    if (latest !== undefined && isSameAgent(latest.layout, now.layout)) {
      return { before: latest, isOther: false, conversation: own };
    }
    const other = agent === "" ? undefined : this.#agents.newest(agent);
    if (other === undefined) return { before: undefined, isOther: true, conversation: own };
    if (isSameConversation(other.layout, now.layout)) {
      return { before: other, isOther: false, conversation: other.conversation };
    }
    const isLike = isSameTemplate(other.layout, now.layout);
    return { before: isLike ? other : undefined, isOther: true, conversation: own };
  }

  #keep(prompt: ShelvedPrompt, agent: string): void {
    this.#conversations.put(prompt.conversation, prompt);
    this.#conversations.put(`${prompt.conversation} ${agent}`, prompt);
    if (agent !== "") this.#agents.put(agent, prompt);
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
    { before, isOther }: Predecessor,
    found: PlacedBreak | null,
    problems: readonly MarkProblem[],
  ): void {
    const tokens = partTokens(now.layout.parts);
    const shared = before === undefined ? 0 : sharedTokens(before.layout, now.layout);
    const lost = found === null ? 0 : Math.min(found.lostTokens, tokens - shared);
    const { minimumTokens } = providerCacheRules(now.facts.format, now.facts.model);
    const isUncached = problems.some(({ kind }) => kind === "no_marks" || kind === "too_short");
    const isLate = isTooLate(request, before);
    const isKept = !isLate && !isUncached && (minimumTokens === null || shared >= minimumTokens);
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
      lateTokens: isLate && found === null ? shared : 0,
      usage,
      price: this.#options.price ?? promptPrice(now.facts.model),
    });
    if (found !== null) this.#totals.found(found);
  }
}

/** Come after the entry had ended, by the times of the records; the longest lifetime counts that the body asks for. */
function isTooLate(request: RecordedRequest, before: ShelvedPrompt | undefined): boolean {
  if (before === undefined || before.wallMs === null || request.wallMs === null) return false;
  const { format, model } = before.facts;
  const { lifetimes } = providerCacheRules(format, model);
  const passedUs = (request.wallMs - before.wallMs) * 1_000;
  if (passedUs <= lifetimes[0].lifetimeUs) return false;
  const text = JSON.stringify(request.body);
  const asked = lifetimes.findLast(({ name }) => text.includes(`"${name}"`)) ?? lifetimes[0];
  return passedUs > asked.lifetimeUs;
}

/** Most of their tools have the same names, and their system texts are of one template. */
function isSameAgent(before: PromptLayout, now: PromptLayout): boolean {
  if (isSameConversation(before, now)) return true;
  const names = ({ parts }: PromptLayout): Set<string> =>
    new Set(parts.flatMap(({ kind, name }) => (kind === "tool" ? [name] : [])));
  const [old, own] = [names(before), names(now)];
  const both = [...own].filter((name) => old.has(name)).length;
  return both >= new Set([...old, ...own]).size * SAME_SHARE && isSameTemplate(before, now);
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
