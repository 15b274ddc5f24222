/** The result document around the runs of one command. */
import { type Clock, isoTime } from "../clock/index.ts";
import { VERSION } from "../version.ts";
import { hostFacts } from "./host-facts.ts";
import { type ResultDocument, type ResultRun, SCHEMA_VERSION } from "./result-document.ts";

export interface DocumentParts {
  readonly kind: ResultDocument["kind"];
  readonly clock: Clock;
  /** Unix time at the start. */
  readonly startedMs: number;
  /** Repeats the run; must hold no secret. */
  readonly command: string;
  readonly status: ResultDocument["status"];
  readonly runs: readonly ResultRun[];
  readonly comparisons?: ResultDocument["comparisons"];
  readonly notes?: ResultDocument["notes"];
  readonly next: string;
}

export function makeDocument(parts: DocumentParts): ResultDocument {
  const { kind, startedMs, command, status, next } = parts;
  return {
    schemaVersion: SCHEMA_VERSION,
    kind,
    id: `${kind}-${startedMs.toString(36)}`,
    startedAt: isoTime(startedMs),
    command,
    status,
    versions: { manx: VERSION, node: process.version },
    host: hostFacts(),
    runs: [...parts.runs],
    comparisons: parts.comparisons ?? [],
    notes: parts.notes ?? [],
    next,
  };
}
