/** What is noted of the attempts of one call beside their records, as it becomes known, and counted as it happens. */
import type { AttemptRecord, BeginCause } from "../../policy/index.ts";
import type { UpstreamConfig } from "../config/index.ts";
import type { ConnectionMarks } from "../transport/connection-marks.ts";
import type { AttemptMetrics } from "./attempt-metrics.ts";
import { upstreamRequestId } from "./call-identity.ts";
import type { AttemptSeen } from "./call-record.ts";

type FactNames = Exclude<keyof AttemptSeen, keyof AttemptRecord>;
type AttemptFacts = { -readonly [Name in FactNames]: AttemptSeen[Name] };

export class AttemptsSeen {
  readonly #model: string;
  readonly #metrics: AttemptMetrics | null;
  readonly #facts: AttemptFacts[] = [];
  /** By attempt: its end is counted. */
  readonly #isCounted: boolean[] = [];

  /** @param model label of the call's. @param metrics null: these attempts are in no figure. */
  constructor(model: string, metrics: AttemptMetrics | null) {
    this.#model = model;
    this.#metrics = metrics;
  }

  begin(attempt: number, cause: BeginCause, upstream: UpstreamConfig, targetName: string): void {
    this.#metrics?.begins(this.#model, cause);
    this.#isCounted[attempt] = false;
    this.#facts[attempt] = {
      upstream: upstream.name,
      targetName,
      provider: providerOf(upstream),
      origin: undefined,
      connection: undefined,
      upstreamRequestId: undefined,
    };
  }

  /** A connection is asked for. */
  place(attempt: number, url: URL): void {
    this.#facts[attempt]!.origin = originOf(url);
  }

  sent(attempt: number, marks: ConnectionMarks | undefined): void {
    this.#facts[attempt]!.connection = marks;
  }

  head(attempt: number, rawHeaders: readonly string[] | undefined): void {
    if (rawHeaders === undefined) return;
    this.#facts[attempt]!.upstreamRequestId = upstreamRequestId(rawHeaders);
  }

  delivered({ cause }: AttemptRecord): void {
    this.#metrics?.wins(this.#model, cause);
  }

  /** Counts those that have ended since the last time. @param records of the same attempts. */
  countEnds(records: readonly AttemptRecord[]): void {
    if (this.#metrics === null) return;
    for (const record of records) {
      const { attempt, end } = record;
      if (end === undefined || this.#isCounted[attempt] !== false) continue;
      this.#isCounted[attempt] = true;
      const { upstream, connection } = this.#facts[attempt]!;
      this.#metrics.ends(this.#model, upstream, record, connection);
    }
  }

  connection(attempt: number): ConnectionMarks | undefined {
    return this.#facts[attempt]?.connection;
  }

  /** @param records of the same attempts. */
  with(records: readonly AttemptRecord[]): AttemptSeen[] {
    return records.map((record, attempt) => joined(record, this.#facts[attempt]!));
  }
}

/** Field by field: two objects spread into one cost more than all else that is noted of a call. */
function joined(record: AttemptRecord, facts: AttemptFacts): AttemptSeen {
  return {
    attempt: record.attempt,
    target: record.target,
    cause: record.cause,
    beganUs: record.beganUs,
    sentUs: record.sentUs,
    headUs: record.headUs,
    contentUs: record.contentUs,
    endedUs: record.endedUs,
    end: record.end,
    status: record.status,
    upstream: facts.upstream,
    targetName: facts.targetName,
    provider: facts.provider,
    origin: facts.origin,
    connection: facts.connection,
    upstreamRequestId: facts.upstreamRequestId,
  };
}

/** A URL puts its origin together at each question. */
const ORIGINS = new WeakMap<URL, string>();

function originOf(url: URL): string {
  let origin = ORIGINS.get(url);
  if (origin === undefined) {
    origin = url.origin;
    ORIGINS.set(url, origin);
  }
  return origin;
}

function providerOf({ kind, format, name }: UpstreamConfig): string {
  if (kind === "vllm" || kind === "sglang") return kind;
  return format === "any" ? name : format;
}
