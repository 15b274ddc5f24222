/** A file of turns: Manx's own documents or OTLP/JSON exports, one alone or one a line, as collectors write them. */
import { ManxError } from "../../core/index.ts";
import { readOtlp, readTurns } from "../otlp/index.ts";
import { turnRecord } from "../turn-record.ts";
import { parseTurn } from "./parse-turn.ts";
import { TURN_SPANS_MAX, type TurnRecord } from "./turn-schema.ts";

export interface TurnFile {
  readonly turns: readonly TurnRecord[];
  /** What was set aside, in words. */
  readonly notes: readonly string[];
}

/**
 * Spans of one trace may come in several lines: they are put together before turns are made of them.
 * @param where the file's name, for errors and notes.
 * @throws MANX_TRACE_FORMAT
 */
export function readTurnFile(text: string, where: string): TurnFile {
  const documents: TurnRecord[] = [];
  const resourceSpans: unknown[] = [];
  for (const { value, at } of jsonValues(text, where)) {
    const fields = (value ?? {}) as Record<string, unknown>;
    const spans = fields.resourceSpans ?? fields.resource_spans;
    if (Array.isArray(spans)) for (const one of spans) resourceSpans.push(one);
    else documents.push(parseTurn(value, at));
  }
  const read = readOtlp({ resourceSpans });
  const notes = read.rejected
    .slice(0, REASONS_SHOWN)
    .map((one) => `${where}, ${one.where}: span set aside, ${one.reason}`);
  const more = read.rejectedCount - notes.length;
  if (more > 0) notes.push(`${where}: ${more} more spans set aside`);
  const turns: TurnRecord[] = [];
  for (const turn of readTurns(read.spans)) {
    // Stand-ins come on top of the spans that were read.
    if (turn.spans.length > TURN_SPANS_MAX) {
      notes.push(`${where}: turn ${turn.traceId} set aside, more than ${TURN_SPANS_MAX} spans`);
    } else turns.push(turnRecord(turn, { environment: turn.environment }));
  }
  return { turns: [...documents, ...turns], notes };
}

const REASONS_SHOWN = 5;
const EXCERPT_CHARS = 60;

function* jsonValues(text: string, where: string): Generator<{ value: unknown; at: string }> {
  const whole = parsed(text);
  if (whole !== undefined) {
    yield { value: whole.value, at: where };
    return;
  }
  for (const [index, line] of text.split("\n").entries()) {
    if (line.trim() === "") continue;
    const one = parsed(line);
    if (one === undefined) {
      throw new ManxError("MANX_TRACE_FORMAT", {
        what: "neither one JSON document nor one a line",
        where: `${where}:${index + 1}`,
        expected: "a turn document of Manx or an OTLP/JSON export",
        got: JSON.stringify(line.slice(0, EXCERPT_CHARS)),
        hint: "give a turn document, or an OTLP export in JSON, not in protobuf",
      });
    }
    yield { value: one.value, at: `${where}:${index + 1}` };
  }
}

function parsed(text: string): { value: unknown } | undefined {
  try {
    return { value: JSON.parse(text) };
  } catch {
    return undefined;
  }
}
