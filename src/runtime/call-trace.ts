/** The span of one tool call, with an attempt for each of its runs where there may be several. */
import { EVENT, NO_SPAN, type OpenSpan } from "../trace/index.ts";
import { endSpan } from "./end-span.ts";
import type { Ending } from "./execution.ts";
import type { ResultStatus } from "./result-text.ts";
import type { Tool } from "./tool.ts";

/** Where a call stands in the turn's record. */
export interface CallPlace {
  readonly under: OpenSpan;
  /** What it had to wait for. */
  readonly after: readonly OpenSpan[];
}

export const UNTRACED: CallPlace = { under: NO_SPAN, after: [] };

export class CallTrace {
  readonly span: OpenSpan;
  readonly #hasAttempts: boolean;
  #isPlaced = false;

  constructor(tool: Tool, callId: string, { under, after }: CallPlace) {
    this.span = under === NO_SPAN ? NO_SPAN : under.begin("tool-call", tool.name, { after });
    this.#hasAttempts = tool.attemptsMax > 1 || Number.isFinite(tool.hedgeAfterUs);
    if (this.span === NO_SPAN) return;
    this.span.set("gen_ai.tool.name", tool.name);
    this.span.set("gen_ai.tool.call.id", callId);
    this.span.set("manx.tool.effect", tool.effect);
  }

  /** A run begins. @returns the span for the tool's own. */
  run(attempt: number): OpenSpan {
    if (this.span === NO_SPAN) return NO_SPAN;
    if (!this.#isPlaced) this.span.event(EVENT.placeGranted);
    this.#isPlaced = true;
    return this.#hasAttempts ? this.span.begin("attempt", `attempt ${attempt}`) : this.span;
  }

  /** @param run as `run` has answered it. */
  ran(run: OpenSpan, ending: Ending): void {
    if (run !== this.span) endSpan(run, ending);
  }

  end(status: ResultStatus): void {
    if (status !== "ok") this.span.set("error.type", status);
    this.span.end(status === "ok" ? "ok" : status === "cancelled" ? "cancelled" : "error");
  }

  /** It began on a guess, and the model has asked for it. */
  adopt(callId: string): void {
    this.span.set("gen_ai.tool.call.id", callId);
    this.span.set("manx.prefetch", "hit");
  }

  /** Nobody waits for it any more, and what it found is thrown away. */
  revoke(): void {
    this.span.detach();
  }
}
