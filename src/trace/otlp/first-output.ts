/** Where a model call's first output is written: the conventions know one place, the back ends look in five others. */
import { isoTime } from "../../clock/index.ts";
import { type AttributeValue, EVENT, type Span, type SpanEvent } from "../span.ts";

/** Events that only repeat the first output for one of the back ends. */
export const FIRST_OUTPUT_EVENTS: readonly string[] = [
  "First Token Stream Event",
  "gen_ai.content.chunk",
];

/** @returns from the span itself, else from the attempt whose answer it was; µs from the turn's start. */
export function firstOutputUs(span: Span, attempts: readonly Span[]): number | undefined {
  const own = outputStart(span);
  if (own !== undefined) return own;
  const winner = attempts.findLast(({ status }) => status === "ok" || status === "unset");
  return winner === undefined ? undefined : outputStart(winner);
}

function outputStart({ events, startUs, endUs }: Span): number | undefined {
  const found = events.find(
    ({ name, atUs }) => name === EVENT.outputStart && atUs >= startUs && atUs <= endUs,
  );
  return found?.atUs;
}

/** For Langfuse, the AI SDK's readers, Phoenix and LangWatch, in this order. */
export function firstOutputDialects(
  span: Span,
  atUs: number,
  originUs: number,
): { attributes: Record<string, AttributeValue>; events: SpanEvent[] } {
  return {
    attributes: {
      // A JSON string inside a string, as Langfuse's own SDK sends it.
      "langfuse.observation.completion_start_time": JSON.stringify(
        isoTime(Math.round((originUs + atUs) / 1_000)),
      ),
      "ai.response.msToFirstChunk": (atUs - span.startUs) / 1_000,
    },
    events: FIRST_OUTPUT_EVENTS.map((name) => ({ name, atUs })),
  };
}
