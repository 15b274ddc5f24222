/** Text to a turn document, or a clear refusal: what comes out has the schema's shape, and its phases add up. */
import { ManxError } from "../../core/index.ts";
import { PHASES } from "../phase.ts";
import { TURN_SCHEMA_VERSION, type TurnRecord, turnSchema } from "./turn-schema.ts";

const PROBLEMS_SHOWN = 3;

/**
 * @param value parsed JSON.
 * @param where the file's name, for the error.
 * @throws MANX_TRACE_FORMAT
 */
export function parseTurn(value: unknown, where: string): TurnRecord {
  const version = (value as { schemaVersion?: unknown } | null)?.schemaVersion;
  if (version !== TURN_SCHEMA_VERSION) {
    const got = version === undefined ? "none" : JSON.stringify(version).slice(0, 40);
    throw refusal(`${where}, schemaVersion`, String(TURN_SCHEMA_VERSION), got);
  }
  const parsed = turnSchema.safeParse(value);
  if (!parsed.success) {
    const { issues } = parsed.error;
    const shown = issues
      .slice(0, PROBLEMS_SHOWN)
      .map(({ path, message }) => `${path.join(".") || "the document"}: ${message}`);
    const more = issues.length > shown.length ? `; and ${issues.length - shown.length} more` : "";
    throw refusal(where, "the shape of turn.schema.json", `${shown.join("; ")}${more}`);
  }
  checkSums(parsed.data, where);
  return parsed.data;
}

/** A document whose numbers contradict each other was edited or cut; none of them can be trusted. */
function checkSums({ phases, path, wallUs, spans }: TurnRecord, where: string): void {
  const sumUs = PHASES.reduce((sum, phase) => sum + phases[phase], 0);
  if (sumUs !== wallUs) {
    throw refusal(`${where}, phases`, `a sum of ${wallUs} µs, the wall time`, `${sumUs}`);
  }
  const ids = new Set(spans.map(({ id }) => id));
  let nowUs = 0;
  for (const [index, { spanId, startUs, endUs }] of path.entries()) {
    const at = `${where}, path.${index}`;
    if (startUs !== nowUs || endUs <= startUs) {
      throw refusal(at, `a section from ${nowUs} µs on`, `${startUs} to ${endUs}`);
    }
    if (!ids.has(spanId)) throw refusal(at, "the id of a span", JSON.stringify(spanId));
    nowUs = endUs;
  }
  if (nowUs !== wallUs) {
    throw refusal(`${where}, path`, `sections up to ${wallUs} µs, the wall time`, `${nowUs}`);
  }
}

function refusal(where: string, expected: string, got: string): ManxError {
  return new ManxError("MANX_TRACE_FORMAT", {
    what: "not a turn document that this version can read",
    where,
    expected,
    got,
    hint: "give a turn that this version of Manx has written, or an OTLP/JSON export",
  });
}
