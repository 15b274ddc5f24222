/**
 * OTLP/JSON to spans, span by span: a bad one is set aside with its reason and the others are kept. Reads what exporters
 * really send: snake_case, names for enums, the old instrumentation library, ids and times in many forms.
 */
import type { AttributeValue } from "../span.ts";
import { readId } from "./otlp-id.ts";
import { type ReadTime, readTime } from "./otlp-time.ts";
import { readValue } from "./otlp-value.ts";

export interface OtlpEvent {
  readonly name: string;
  readonly atNs: bigint;
}

export interface OtlpReadSpan {
  readonly traceId: string;
  readonly spanId: string;
  readonly parentId: string | null;
  readonly name: string;
  /** 0 unspecified, 1 internal, 2 server, 3 client, 4 producer, 5 consumer. */
  readonly kind: number;
  readonly startNs: bigint;
  /** Never before the start. */
  readonly endNs: bigint;
  readonly attributes: Readonly<Record<string, AttributeValue>>;
  readonly events: readonly OtlpEvent[];
  readonly droppedEvents: number;
  readonly links: readonly { traceId: string; spanId: string; relation: string }[];
  /** 0 unset, 1 ok, 2 error. */
  readonly status: number;
  readonly scope: string;
  readonly resource: Readonly<Record<string, AttributeValue>>;
  readonly flaws: readonly SpanFlaw[];
}

export type SpanFlaw = "odd-id" | "imprecise-time" | "unit-guessed" | "reversed-time";

export interface RejectedSpan {
  /** `resourceSpans.0.scopeSpans.1.spans.7` */
  readonly where: string;
  readonly reason: string;
}

export interface OtlpRead {
  readonly spans: readonly OtlpReadSpan[];
  /** The first 100; `rejectedCount` says how many there were. */
  readonly rejected: readonly RejectedSpan[];
  readonly rejectedCount: number;
  /** Values that were cut, and attributes, events and links beyond the limits. */
  readonly droppedCount: number;
}

const REJECTED_SHOWN_MAX = 100;
const SPANS_MAX = 100_000;
const ATTRIBUTES_MAX = 128;
const EVENTS_MAX = 512;
const LINKS_MAX = 64;
const VALUE_CHARS_MAX = 1_024;

type Fields = Readonly<Record<string, unknown>>;

/** @param value a parsed export request; anything else gives no span. */
export function readOtlp(value: unknown): OtlpRead {
  const reader = new OtlpReader();
  for (const [r, resourceSpans] of list(value, "resourceSpans", "resource_spans").entries()) {
    const resource = reader.attributes(object(field(resourceSpans, "resource")));
    const scopes = [
      ...list(resourceSpans, "scopeSpans", "scope_spans"),
      ...list(resourceSpans, "instrumentationLibrarySpans", "instrumentation_library_spans"),
    ];
    for (const [s, scopeSpans] of scopes.entries()) {
      const scope = object(
        field(scopeSpans, "scope") ??
          field(scopeSpans, "instrumentationLibrary", "instrumentation_library"),
      );
      const scopeName = text(scope.name);
      for (const [i, span] of list(scopeSpans, "spans").entries()) {
        reader.span(span, scopeName, resource, `resourceSpans.${r}.scopeSpans.${s}.spans.${i}`);
      }
    }
  }
  return reader.result();
}

class OtlpReader {
  readonly #spans: OtlpReadSpan[] = [];
  readonly #rejected: RejectedSpan[] = [];
  #rejectedCount = 0;
  #dropped = 0;

  result(): OtlpRead {
    return {
      spans: this.#spans,
      rejected: this.#rejected,
      rejectedCount: this.#rejectedCount,
      droppedCount: this.#dropped,
    };
  }

  span(
    span: Fields,
    scope: string,
    resource: Readonly<Record<string, AttributeValue>>,
    where: string,
  ): void {
    const read =
      this.#spans.length < SPANS_MAX
        ? this.#read(span, scope, resource)
        : `more than ${SPANS_MAX} spans`;
    if (typeof read !== "string") {
      this.#spans.push(read);
      return;
    }
    this.#rejectedCount += 1;
    if (this.#rejected.length < REJECTED_SHOWN_MAX) this.#rejected.push({ where, reason: read });
  }

  /** @returns the reason if it cannot be used. */
  #read(
    span: Fields,
    scope: string,
    resource: Readonly<Record<string, AttributeValue>>,
  ): OtlpReadSpan | string {
    const traceId = readId(field(span, "traceId", "trace_id"), 16);
    const spanId = readId(field(span, "spanId", "span_id"), 8);
    const parentId = readId(field(span, "parentSpanId", "parent_span_id"), 8);
    if (traceId === undefined) return "the trace id is no 16 bytes in any known form";
    if (spanId === undefined) return "the span id is no 8 bytes in any known form";
    if (parentId === undefined) return "the parent's id is no 8 bytes in any known form";
    if (traceId.id === null) return "the trace id is missing or all zeros";
    if (spanId.id === null) return "the span id is missing or all zeros";
    const start = readTime(field(span, "startTimeUnixNano", "start_time_unix_nano"));
    const end = readTime(field(span, "endTimeUnixNano", "end_time_unix_nano"));
    if (start === undefined) return "the start is no time between 2000 and 2200";
    if (end === undefined) return "the end is no time between 2000 and 2200";
    const flaws = flawsOf([start, end], traceId.isOdd || spanId.isOdd || parentId.isOdd);
    const isReversed = end.ns < start.ns;
    if (isReversed) flaws.push("reversed-time");
    return {
      traceId: traceId.id,
      spanId: spanId.id,
      parentId: parentId.id,
      name: this.#cut(text(span.name)),
      kind: enumOf(span.kind, "SPAN_KIND_", KINDS),
      startNs: start.ns,
      endNs: isReversed ? start.ns : end.ns,
      attributes: this.attributes(span),
      events: this.#events(span),
      droppedEvents: count(field(span, "droppedEventsCount", "dropped_events_count")),
      links: this.#links(span),
      status: enumOf(object(field(span, "status")).code, "STATUS_CODE_", STATUSES),
      scope,
      resource,
      flaws,
    };
  }

  attributes(holder: Fields): Record<string, AttributeValue> {
    const attributes: Record<string, AttributeValue> = {};
    const all = list(holder, "attributes");
    this.#dropped += Math.max(0, all.length - ATTRIBUTES_MAX);
    for (const one of all.slice(0, ATTRIBUTES_MAX)) {
      const key = text(one.key);
      const value = readValue(one.value);
      if (key === "" || key === "__proto__" || key.length > VALUE_CHARS_MAX) continue;
      if (value === undefined) continue;
      attributes[key] = this.#cutValue(value);
    }
    return attributes;
  }

  #events(span: Fields): OtlpEvent[] {
    const all = list(span, "events");
    this.#dropped += Math.max(0, all.length - EVENTS_MAX);
    return all.slice(0, EVENTS_MAX).flatMap((event) => {
      const time = readTime(field(event, "timeUnixNano", "time_unix_nano"));
      return time === undefined ? [] : [{ name: this.#cut(text(event.name)), atNs: time.ns }];
    });
  }

  #links(span: Fields): { traceId: string; spanId: string; relation: string }[] {
    const all = list(span, "links");
    this.#dropped += Math.max(0, all.length - LINKS_MAX);
    return all.slice(0, LINKS_MAX).flatMap((link) => {
      const traceId = readId(field(link, "traceId", "trace_id"), 16)?.id;
      const spanId = readId(field(link, "spanId", "span_id"), 8)?.id;
      if (spanId == null) return [];
      const relation = this.attributes(link)["manx.link"];
      // A link without a trace is one within its own.
      return [
        { traceId: traceId ?? "", spanId, relation: typeof relation === "string" ? relation : "" },
      ];
    });
  }

  #cutValue(value: AttributeValue): AttributeValue {
    if (typeof value === "string") return this.#cut(value);
    return typeof value === "object" ? value.map((one) => this.#cut(one)) : value;
  }

  #cut(value: string): string {
    if (value.length <= VALUE_CHARS_MAX) return value;
    this.#dropped += 1;
    return `${value.slice(0, VALUE_CHARS_MAX - 1)}…`;
  }
}

function flawsOf(times: readonly ReadTime[], isOdd: boolean): SpanFlaw[] {
  const flaws: SpanFlaw[] = [];
  if (isOdd) flaws.push("odd-id");
  if (times.some(({ isImprecise }) => isImprecise)) flaws.push("imprecise-time");
  if (times.some(({ isUnitGuessed }) => isUnitGuessed)) flaws.push("unit-guessed");
  return flaws;
}

const KINDS = ["UNSPECIFIED", "INTERNAL", "SERVER", "CLIENT", "PRODUCER", "CONSUMER"];
const STATUSES = ["UNSET", "OK", "ERROR"];

function enumOf(value: unknown, prefix: string, names: readonly string[]): number {
  if (typeof value === "string" && value.startsWith(prefix)) {
    return Math.max(0, names.indexOf(value.slice(prefix.length)));
  }
  const number = Number(value);
  return Number.isInteger(number) && number >= 0 && number < names.length ? number : 0;
}

function field(holder: unknown, ...names: readonly string[]): unknown {
  const fields = object(holder);
  for (const name of names) if (fields[name] !== undefined) return fields[name];
  return undefined;
}

function list(holder: unknown, ...names: readonly string[]): Fields[] {
  const value = field(holder, ...names);
  return Array.isArray(value) ? value.map(object) : [];
}

function object(value: unknown): Fields {
  return typeof value === "object" && value !== null ? (value as Fields) : {};
}

function text(value: unknown): string {
  return typeof value === "string" ? value : "";
}

function count(value: unknown): number {
  const number = Number(value);
  return Number.isSafeInteger(number) && number > 0 ? number : 0;
}
