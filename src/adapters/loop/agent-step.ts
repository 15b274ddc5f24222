/** One message of the model within the loop, behind rails or not: only what may be shown is, and why it ended is told alike. */
import type { GuardRefusal } from "../../policy/guard/index.ts";
import type { GuardedStep, GuardedStepOptions, Rails, Step, Turn } from "../../runtime/index.ts";
import type { DecodableFormat, StreamEvent } from "../../stream/index.ts";
import { feed } from "./feed.ts";
import { readUnlessAborted } from "./unless-aborted.ts";

export interface AgentStep {
  readonly step: Step | GuardedStep;
  /** For the model call. */
  readonly signal: AbortSignal;
  /** Of the rails, once they have spoken; null for none. */
  readonly refusal: () => GuardRefusal | null;
  /** @throws what the stream throws, or why nobody reads it any more; the step has ended by then. */
  readonly read: (stream: AsyncIterable<object>) => Promise<void>;
  /** Resolves when all that may be shown has been. */
  readonly shown: () => Promise<unknown>;
}

export interface AgentStepOptions {
  readonly format: DecodableFormat;
  readonly model: string;
  readonly show: (events: readonly StreamEvent[]) => void;
  readonly rails: Rails | undefined;
  readonly speculate: GuardedStepOptions["speculate"] | undefined;
  /** What the rails of the request see. */
  readonly request: () => string;
}

export function agentStep(turn: Turn, options: AgentStepOptions): AgentStep {
  const { format, model, show, rails, request, speculate } = options;
  if (rails === undefined) return plainStep(turn.step(format, { model }), turn, show);
  return railedStep(
    turn.guarded(format, {
      rails,
      request: rails.has("request") ? request() : "",
      step: { model },
      onRelease: show,
      ...(speculate !== undefined && { speculate }),
    }),
  );
}

function plainStep(step: Step, { deadline }: Turn, show: AgentStepOptions["show"]): AgentStep {
  const { signal } = deadline;
  return {
    step,
    signal,
    refusal: () => null,
    read: (stream) => feed(step, readUnlessAborted(stream, signal), show),
    shown: () => Promise.resolve(),
  };
}

function railedStep(step: GuardedStep): AgentStep {
  const { signal } = step;
  return {
    step,
    signal,
    refusal: () => step.report?.refusal ?? null,
    read: async (stream) => {
      try {
        for await (const chunk of readUnlessAborted(stream, signal)) step.chunk(chunk);
      } finally {
        step.end();
      }
    },
    shown: () => step.outcome,
  };
}
