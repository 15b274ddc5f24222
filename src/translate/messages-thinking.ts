/**
 * Thinking as a Claude model takes it. The API refuses a budget in three situations, in which the answer without thinking is the
 * better one: a forced tool, a limit below the least budget, and a tool turn whose own thinking did not come back.
 */
import type { CanonicalRequest, Effort } from "./canonical-request.ts";
import { BUDGET_MIN, budgetOf } from "./effort.ts";
import type { MessagesTraits } from "./messages-traits.ts";
import type { Notes } from "./notes.ts";
import { joinTurns, openToolTurn } from "./turns.ts";

export interface MessagesThinking {
  /** The request's `thinking`; null leaves the model's default. */
  readonly thinking: object | null;
  /** Of `output_config`. */
  readonly effort: Exclude<Effort, "minimal"> | null;
  readonly isOn: boolean;
}

interface Situation {
  readonly tokensMax: number;
  readonly traits: MessagesTraits;
  readonly notes: Notes;
}

const DEFAULT: MessagesThinking = { thinking: null, effort: null, isOn: false };

export function thinkingFor(request: CanonicalRequest, situation: Situation): MessagesThinking {
  const { reasoning } = request;
  const { traits, notes } = situation;
  if (reasoning === null) return DEFAULT;
  if (reasoning.mode === "off") {
    return { thinking: { type: "disabled" }, effort: null, isOn: false };
  }
  if (traits.thinking === "adaptive") {
    const { effort } = reasoning;
    if (effort === "minimal") notes.changed("reasoning_effort", "the API's least is low");
    const word = effort === "minimal" ? "low" : effort;
    if (!isForced(request)) return { thinking: { type: "adaptive" }, effort: word, isOn: true };
    notes.dropped("reasoning_effort", FORCED);
    return { thinking: null, effort: word, isOn: false };
  }
  const why = obstacle(request, situation.tokensMax);
  if (why !== undefined) {
    notes.dropped("reasoning_effort", why);
    return DEFAULT;
  }
  const wanted = reasoning.budgetTokens ?? budgetOf(reasoning.effort);
  const budget = Math.min(Math.max(wanted, BUDGET_MIN), situation.tokensMax - 1);
  if (budget < wanted) notes.changed("reasoning_effort", "a budget below max_tokens");
  return { thinking: { type: "enabled", budget_tokens: budget }, effort: null, isOn: true };
}

const FORCED = "not together with a forced tool";

function isForced({ toolChoice }: CanonicalRequest): boolean {
  return toolChoice?.kind === "required" || toolChoice?.kind === "named";
}

function obstacle(request: CanonicalRequest, tokensMax: number): string | undefined {
  if (isForced(request)) return FORCED;
  if (tokensMax <= BUDGET_MIN) return `max_tokens is not above ${BUDGET_MIN}`;
  const turn = openToolTurn(joinTurns(request.turns.filter((one) => one.role !== "system")));
  const isSealed = turn?.parts.some(
    (part) => part.kind === "thinking" && part.seal?.owner === "anthropic-messages",
  );
  if (turn === undefined || isSealed === true) return undefined;
  return "the thinking before the tool calls did not come back";
}
