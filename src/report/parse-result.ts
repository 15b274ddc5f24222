/**
 * Text to a result document, or a clear refusal. Past this point nothing asks again whether a field is there: the shape
 * is the schema's, and each histogram can be read back.
 */
import { isManxError, ManxError } from "../core/index.ts";
import { type ResultDocument, resultSchema, SCHEMA_VERSION } from "../load/index.ts";
import { Histogram } from "../stats/index.ts";

/** A run of an hour has some 100 kB; a hundred of them fit. */
export const RESULT_CHARS_MAX = 64 * 1024 * 1024;
const PROBLEMS_SHOWN = 3;

/**
 * @param where the file's name, for the error.
 * @throws MANX_RESULT_FORMAT if it is no JSON, of another schema version, or not of the schema's shape.
 */
export function parseResult(text: string, where: string): ResultDocument {
  if (text.length > RESULT_CHARS_MAX) {
    throw refusal(where, `at most ${RESULT_CHARS_MAX} characters`, `${text.length}`);
  }
  const value = parseJson(text, where);
  checkVersion(value, where);
  const parsed = resultSchema.safeParse(value);
  if (!parsed.success) {
    const { issues } = parsed.error;
    const shown = issues
      .slice(0, PROBLEMS_SHOWN)
      .map(({ path, message }) => `${path.join(".") || "the document"}: ${message}`);
    const more = issues.length > shown.length ? `; and ${issues.length - shown.length} more` : "";
    throw refusal(where, "the shape of result.schema.json", `${shown.join("; ")}${more}`);
  }
  checkHistograms(parsed.data, where);
  return parsed.data;
}

function parseJson(text: string, where: string): unknown {
  try {
    return JSON.parse(text);
  } catch (cause) {
    const got = text.trim() === "" ? "nothing" : (cause as SyntaxError).message;
    throw refusal(where, "one JSON document, as --json and --output write it", got, cause);
  }
}

/** Told apart from a wrong shape: the cure is another version of Manx, not another file. */
function checkVersion(value: unknown, where: string): void {
  const version = (value as { schemaVersion?: unknown } | null)?.schemaVersion;
  if (version === SCHEMA_VERSION) return;
  const got = version === undefined ? "none" : JSON.stringify(version).slice(0, 40);
  const isNewer = typeof version === "number" && version > SCHEMA_VERSION;
  throw new ManxError("MANX_RESULT_FORMAT", {
    what: isNewer
      ? "a result document that a newer Manx has written"
      : "not a result document of this version",
    where: `${where}, schemaVersion`,
    expected: String(SCHEMA_VERSION),
    got,
    ...(isNewer && { hint: "update Manx, or measure again with this one" }),
  });
}

function checkHistograms(document: ResultDocument, where: string): void {
  for (const [index, run] of document.runs.entries()) {
    for (const [name, { histogram }] of Object.entries(run.metrics)) {
      const at = `${where}, runs.${index}.metrics.${name}.histogram`;
      let counted = 0;
      for (let i = 1; i < histogram.buckets.length; i += 2) counted += histogram.buckets[i]!;
      if (counted !== histogram.n || histogram.n > 0 !== (histogram.max !== null)) {
        throw refusal(at, `${histogram.n} samples with their least and greatest`, `${counted}`);
      }
      try {
        Histogram.fromJSON(histogram);
      } catch (thrown) {
        if (!isManxError(thrown)) throw thrown;
        throw refusal(at, "buckets that this version can read", thrown.what, thrown);
      }
    }
  }
}

function refusal(where: string, expected: string, got: string, cause?: unknown): ManxError {
  return new ManxError("MANX_RESULT_FORMAT", { where, expected, got, cause });
}
