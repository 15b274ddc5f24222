/**
 * A prompt compiled from parts that say how long they stay the same: what is stable stands first, what has no order of its own
 * gets one, and marks stand where the provider's rules allow them. The same parts are the same bytes, in whatever order
 * tools were registered or keys were written. Messages are never moved; results of parallel calls take the order of the calls.
 *
 *     tools ▸ system and documents: static ▸ session ▸ what was said ▸ documents of this turn ▸ input
 */
import { ManxError } from "../../core/index.ts";
import {
  type CacheFormat,
  inCanonicalOrder,
  type LifetimeName,
  layoutOf,
  type MarkOutlook,
  markOutlook,
  type PromptLayout,
  type ProviderCacheRules,
  providerCacheRules,
  textHash,
  tokensOf,
} from "../../policy/index.ts";
import { partTokens } from "./part-tokens.ts";
import { type PromptFinding, refuseVolatile, staticFindings } from "./prompt-finding.ts";
import type { PromptPart } from "./prompt-part.ts";
import {
  arrange,
  type Lifetimes,
  markPlaces,
  type WrittenPrompt,
  writePrompt,
} from "./prompt-writer.ts";
import { withMark } from "./set-marks.ts";

export interface CompileOptions {
  readonly format: CacheFormat;
  readonly model: string;
  /** Further fields of the body, such as `max_tokens`; those of the prompt itself are refused. */
  readonly settings?: Readonly<Record<string, unknown>>;
  /** How long marks keep; the provider's shortest by default. Static may outlive the session, not the other way round. */
  readonly lifetimes?: Partial<Lifetimes>;
  /** OpenAI: `prompt_cache_key`. Default: made of the static parts, so that those who share them meet at one machine. */
  readonly cacheKey?: string;
  /** Shortest prefix that is kept, tokens; in place of what is known of the model. */
  readonly minimumTokens?: number;
  /** Text that is new each time in a static part is an error. Default false: a finding. */
  readonly strict?: boolean;
}

export interface PlacedMark {
  /** Of the tool, block or message that ends with it. */
  readonly path: string;
  /** Of the prompt up to there, about. */
  readonly tokens: number;
  readonly lifetime: LifetimeName;
}

export interface CompiledPrompt {
  readonly format: CacheFormat;
  readonly model: string;
  readonly body: Readonly<Record<string, unknown>>;
  /** The bytes to send. */
  readonly json: string;
  readonly layout: PromptLayout;
  readonly marks: readonly PlacedMark[];
  /** About, as all tokens here: a quarter of the characters. */
  readonly tokens: number;
  /** Of tools and static texts: what every session shares. */
  readonly staticTokens: number;
  /** What the next request of this session can read; 0 if that is too short to be kept. */
  readonly cacheableTokens: number;
  /** `cacheableTokens` of `tokens`, 0 to 1: what a warm cache serves of this very prompt. */
  readonly hitShare: number;
  readonly outlook: MarkOutlook;
  readonly rules: ProviderCacheRules;
  readonly findings: readonly PromptFinding[];
}

const OF_PROMPT = ["model", "tools", "system", "instructions", "messages", "input"];
/** As `layoutOf` bears. */
const PARTS_MAX = 20_000;

/** @throws MANX_REQUEST_INVALID, MANX_TOOL_INVALID */
export function compilePrompt(
  parts: readonly PromptPart[],
  options: CompileOptions,
): CompiledPrompt {
  const { format, model } = options;
  const known = providerCacheRules(format, model);
  const rules: ProviderCacheRules = {
    ...known,
    minimumTokens: options.minimumTokens ?? known.minimumTokens,
  };
  checkParts(parts, options);
  const found = staticFindings(parts);
  if (options.strict === true) refuseVolatile(found);
  const prompt = arrange(parts);
  checkTools(prompt);
  const lifetimes = lifetimesOf(options, rules);
  const plain = { ...options.settings, ...writePrompt(format, prompt), model };
  const bare = withCacheFields(inCanonicalOrder(plain), prompt, options, rules);
  const places = format === "anthropic-messages" ? markPlaces(prompt, lifetimes) : [];
  const layout = layoutOf(bare);
  const { body, marks } = placeMarks(bare, layout, places, rules);
  return {
    format,
    model,
    body,
    json: JSON.stringify(body),
    layout,
    marks,
    ...forecast(layout, prompt, marks, rules),
    rules,
    findings: [...found, ...lengthFindings(layout, prompt, marks, rules)],
  };
}

function checkParts(
  parts: readonly PromptPart[],
  { settings = {}, minimumTokens = 0 }: CompileOptions,
): void {
  const refuse = (where: string, expected: string, got: string): never => {
    throw new ManxError("MANX_REQUEST_INVALID", { where, expected, got });
  };
  if (parts.length > PARTS_MAX) refuse("parts", `at most ${PARTS_MAX} parts`, `${parts.length}`);
  if (!Number.isSafeInteger(minimumTokens) || minimumTokens < 0) {
    refuse("minimumTokens", "a whole number from 0", String(minimumTokens));
  }
  const inputs = parts.filter(({ kind }) => kind === "input").length;
  if (inputs > 1) refuse("parts", "one part of kind input at most", `${inputs}`);
  const taken = OF_PROMPT.find((name) => name in settings);
  if (taken !== undefined) refuse(`settings.${taken}`, "a field that is no prompt", taken);
}

function checkTools({ tools }: WrittenPrompt): void {
  const names = new Set<string>();
  for (const { name } of tools) {
    if (names.has(name)) {
      throw new ManxError("MANX_TOOL_INVALID", {
        where: name,
        expected: "each tool once",
        got: "two of this name",
      });
    }
    names.add(name);
  }
}

/** @throws MANX_REQUEST_INVALID for one that the provider lacks, and for a longer one behind a shorter one. */
function lifetimesOf({ lifetimes = {} }: CompileOptions, rules: ProviderCacheRules): Lifetimes {
  const [shortest] = rules.lifetimes;
  const made = {
    static: lifetimes.static ?? lifetimes.session ?? shortest.name,
    session: lifetimes.session ?? shortest.name,
  };
  const rank = (which: keyof Lifetimes): number => {
    const at = rules.lifetimes.findIndex(({ name }) => name === made[which]);
    if (at >= 0) return at;
    throw new ManxError("MANX_REQUEST_INVALID", {
      where: `lifetimes.${which}`,
      expected: `one of ${rules.lifetimes.map(({ name }) => name).join(", ")}`,
      got: made[which],
    });
  };
  if (rank("static") < rank("session")) {
    throw new ManxError("MANX_REQUEST_INVALID", {
      where: "lifetimes",
      expected: "no longer one behind a shorter one",
      got: `static ${made.static}, session ${made.session}`,
    });
  }
  return made;
}

/** What OpenAI wants to be told: who shares a prefix, and for how long. */
function withCacheFields(
  body: Readonly<Record<string, unknown>>,
  prompt: WrittenPrompt,
  { cacheKey, lifetimes }: CompileOptions,
  { provider }: ProviderCacheRules,
): Readonly<Record<string, unknown>> {
  if (provider !== "openai") return body;
  const shared = prompt.system.filter(({ stability }) => stability === "static");
  const isLong = lifetimes?.static === "24h" || lifetimes?.session === "24h";
  // Of the tools as they are sent: the same however they were registered.
  const own = textHash(JSON.stringify([body.tools, shared])).toString(36);
  return inCanonicalOrder({
    ...body,
    prompt_cache_key: cacheKey ?? `manx-${own}`,
    ...(isLong && { prompt_cache_retention: "24h" }),
  });
}

/** Those that the provider would ignore for their length are left out, and use none of its four up. */
function placeMarks(
  bare: Readonly<Record<string, unknown>>,
  layout: PromptLayout,
  places: ReturnType<typeof markPlaces>,
  { minimumTokens, marksMax }: ProviderCacheRules,
): { body: Readonly<Record<string, unknown>>; marks: PlacedMark[] } {
  let body = bare;
  const marks: PlacedMark[] = [];
  const wanted = places
    .map((place) => ({ ...place, tokens: tokensUpTo(layout, place.path) }))
    .filter(({ tokens }) => markOutlook(tokens, minimumTokens) !== "too_short");
  for (const { path, lifetime, tokens } of wanted.slice(-marksMax)) {
    const made = withMark(body, path, lifetime);
    if (made === null) continue;
    body = made;
    marks.push({ path, tokens, lifetime });
  }
  return { body, marks };
}

function tokensUpTo({ parts }: PromptLayout, path: string): number {
  const isIn = (own: string): boolean => own === path || own.startsWith(`${path}.`);
  const end = parts.findLastIndex((part) => isIn(part.path)) + 1;
  return partTokens(parts.slice(0, end));
}

/** What the next request of the session repeats: all of this one, but the message that passes. */
function lastingTokens({ parts }: PromptLayout, prompt: WrittenPrompt): number {
  if (!prompt.isLastPassing) return partTokens(parts);
  const last = parts.at(-1)!;
  return partTokens(parts.filter((part) => part !== last));
}

function forecast(
  layout: PromptLayout,
  prompt: WrittenPrompt,
  marks: readonly PlacedMark[],
  { needsMarks, stepTokens, minimumTokens }: ProviderCacheRules,
): Pick<CompiledPrompt, "tokens" | "staticTokens" | "cacheableTokens" | "hitShare" | "outlook"> {
  const tokens = partTokens(layout.parts);
  const lasting = needsMarks ? (marks.at(-1)?.tokens ?? 0) : lastingTokens(layout, prompt);
  const outlook = markOutlook(lasting, minimumTokens);
  const kept = outlook === "too_short" ? 0 : Math.floor(lasting / stepTokens) * stepTokens;
  const sessionChars = prompt.system.find(({ stability }) => stability === "session")?.text.length;
  const stable = partTokens(
    layout.parts.filter(({ kind }) => kind === "tool" || kind === "system"),
  );
  return {
    tokens,
    staticTokens: Math.max(0, stable - tokensOf(sessionChars ?? 0)),
    cacheableTokens: kept,
    hitShare: tokens === 0 ? 0 : kept / tokens,
    outlook,
  };
}

function lengthFindings(
  layout: PromptLayout,
  prompt: WrittenPrompt,
  marks: readonly PlacedMark[],
  { minimumTokens, asOf, provider }: ProviderCacheRules,
): PromptFinding[] {
  const lasting = lastingTokens(layout, prompt);
  const outlook = markOutlook(lasting, minimumTokens);
  const of = (problem: PromptFinding["problem"], text: string): PromptFinding[] => [
    { problem, part: "", field: "", byte: null, text },
  ];
  if (outlook === "unknown") {
    return of(
      "unknown_model",
      `what ${provider} keeps at the least is not known for this model: usage will tell`,
    );
  }
  const limit = `${minimumTokens} that ${provider} keeps at the least (as of ${asOf})`;
  if (outlook === "too_short") {
    return of(
      "too_short",
      `about ${lasting} tokens of prefix, below the ${limit}: nothing is cached`,
    );
  }
  const isClose = outlook === "uncertain" && marks.length <= 1;
  return isClose ? of("uncertain", `about ${lasting} tokens of prefix, close to the ${limit}`) : [];
}
