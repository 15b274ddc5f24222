/** Marks that cannot work as they stand, and prompts that no cache will keep (casebook RT-14). One finding for each model and kind. */
import {
  markOutlook,
  type PromptFacts,
  type PromptLayout,
  providerCacheRules,
} from "../../../policy/index.ts";
import { partTokens } from "../part-tokens.ts";

export type MarkProblemKind =
  | "too_short"
  | "uncertain"
  | "unknown_model"
  | "no_marks"
  | "too_many_marks"
  | "lifetime_order";

export interface MarkProblem {
  readonly kind: MarkProblemKind;
  readonly text: string;
}

interface Mark {
  readonly ttl: string;
  /** Of the prompt up to its end, about. */
  readonly tokens: number;
}

export function markProblems(
  body: unknown,
  facts: PromptFacts,
  layout: PromptLayout,
): MarkProblem[] {
  const rules = providerCacheRules(facts.format, facts.model);
  const { minimumTokens, marksMax, asOf } = rules;
  const problems: MarkProblem[] = [];
  const all = partTokens(layout.parts);
  const marks = rules.needsMarks ? marksIn(body as Json, layout) : [];
  const furthest = marks.length > 0 ? Math.max(...marks.map(({ tokens }) => tokens)) : all;
  const outlook = markOutlook(furthest, minimumTokens);
  const name = facts.model === "" ? "this model" : facts.model;
  if (outlook === "too_short" || outlook === "uncertain") {
    const end =
      outlook === "too_short" ? "it is never cached, and nobody says so" : "usage alone can tell";
    problems.push({
      kind: outlook,
      text: `${name} keeps prefixes from ${minimumTokens} tokens (as of ${asOf}); this one has about ${furthest}: ${end}`,
    });
  } else if (outlook === "unknown") {
    problems.push({
      kind: "unknown_model",
      text: `what ${name} keeps at the least is not known: usage will tell`,
    });
  }
  if (!rules.needsMarks) return problems;
  if (marks.length === 0 && outlook !== "too_short") {
    problems.push({
      kind: "no_marks",
      text: "no cache_control: this provider caches nothing without one",
    });
  }
  if (marks.length > marksMax) {
    problems.push({
      kind: "too_many_marks",
      text: `${marks.length} marks; the provider takes ${marksMax}`,
    });
  }
  const firstShort = marks.findIndex(({ ttl }) => ttl === "5m");
  if (firstShort >= 0 && marks.slice(firstShort).some(({ ttl }) => ttl === "1h")) {
    problems.push({
      kind: "lifetime_order",
      text: "a mark of 1h stands behind one of 5m, which the provider refuses",
    });
  }
  return problems;
}

type Json = Readonly<Record<string, unknown>>;

/** In render order; the one at the top of the request stands for its last block. */
function marksIn(body: Json, layout: PromptLayout): Mark[] {
  const marks: Mark[] = [];
  const add = (holder: unknown, path: string): void => {
    const control = isObject(holder) ? holder.cache_control : undefined;
    if (!isObject(control)) return;
    const ttl = typeof control.ttl === "string" ? control.ttl : "5m";
    marks.push({ ttl, tokens: tokensUpTo(layout, path) });
  };
  for (const [i, tool] of listOf(body.tools).entries()) add(tool, `tools[${i}]`);
  for (const [i, block] of listOf(body.system).entries()) add(block, `system[${i}]`);
  for (const [i, message] of listOf(body.messages).entries()) {
    const content = isObject(message) ? message.content : undefined;
    for (const [j, block] of listOf(content).entries()) add(block, `messages[${i}].content[${j}]`);
  }
  if (isObject(body.cache_control)) add(body, layout.parts.at(-1)?.path ?? "");
  return marks;
}

function tokensUpTo(layout: PromptLayout, path: string): number {
  const end = layout.parts.findLastIndex((part) => part.path === path) + 1;
  return partTokens(layout.parts.slice(0, end));
}

function listOf(value: unknown): readonly unknown[] {
  return Array.isArray(value) ? value : [];
}

function isObject(value: unknown): value is Json {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
