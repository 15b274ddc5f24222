/**
 * One span while it is recorded. Over the turn's limit it is a `DroppedSpan`, which keeps no more than the time that it
 * and its like took.
 */
import { type BeginOptions, NO_SPAN, type OpenSpan, type RecordedKind } from "./open-span.ts";
import type { Phase } from "./phase.ts";
import type { AttributeValue, Span, SpanEvent, SpanKind, SpanLink, SpanStatus } from "./span.ts";
import type { SpanLedger } from "./span-ledger.ts";

const OPEN = -1;

export class RecordedSpan implements OpenSpan {
  readonly #ledger: SpanLedger;
  readonly index: number;
  readonly startUs: number;
  readonly #parent: number;
  readonly #kind: SpanKind;
  readonly #name: string;
  readonly #attributes: Record<string, AttributeValue> = {};
  #events: SpanEvent[] | undefined;
  #after: RecordedSpan[] | undefined;
  #phase: Phase | undefined;
  #cold: string | undefined;
  #status: SpanStatus = "unset";
  #isDetached = false;
  #standIn: StandIn | undefined;
  endUs = OPEN;

  constructor(ledger: SpanLedger, parent: number, kind: SpanKind, name: string, startUs: number) {
    this.#ledger = ledger;
    this.#parent = parent;
    this.#kind = kind;
    this.startUs = startUs;
    // Its own room: a turn whose attributes are full still says what its spans are.
    this.#name = name.length > ledger.limits.valueCharsMax ? ledger.cut(name) : name;
    const list = kind === "dropped" ? ledger.standIns : ledger.spans;
    // Stand-ins come after all others, whose number is fixed once there is one.
    this.index = (kind === "dropped" ? ledger.spans.length : 0) + list.length;
    list.push(this);
  }

  begin(kind: RecordedKind, name: string, options?: BeginOptions): OpenSpan {
    const ledger = this.#ledger;
    if (ledger.isClosed) return NO_SPAN;
    const startUs = options?.startUs ?? ledger.clock.nowUs();
    if (ledger.spans.length >= ledger.limits.spansMax) {
      ledger.dropped.spans += 1;
      this.#standIn ??= new StandIn(ledger, this.index, startUs);
      this.#standIn.add();
      return new DroppedSpan(ledger, this.#standIn);
    }
    const child = new RecordedSpan(ledger, this.index, kind, name, startUs);
    if (options !== undefined) child.#apply(options);
    return child;
  }

  #apply({ after, phase, cold }: BeginOptions): void {
    this.#phase = phase;
    if (cold !== undefined) this.#cold = this.#ledger.admit(cold) ?? "";
    for (const span of after ?? []) {
      const { linksMax } = this.#ledger.limits;
      const isOurs = span instanceof RecordedSpan && span.#ledger === this.#ledger;
      if (!isOurs || (this.#after?.length ?? 0) >= linksMax) this.#ledger.dropped.links += 1;
      else if (this.#after === undefined) this.#after = [span];
      else this.#after.push(span);
    }
  }

  span<Result>(
    kind: RecordedKind,
    name: string,
    run: (span: OpenSpan) => Result,
    options?: BeginOptions,
  ): Result {
    return runIn(this.begin(kind, name, options), run);
  }

  set(key: string, value: AttributeValue): void {
    const ledger = this.#ledger;
    if (ledger.isClosed) return;
    const kept = ledger.keep(Object.hasOwn(this.#attributes, key) ? "" : key, value);
    if (kept === undefined) ledger.dropped.attributes += 1;
    else this.#attributes[key] = kept;
  }

  event(name: string, atUs?: number): void {
    const ledger = this.#ledger;
    if (ledger.isClosed) return;
    const isRoom = (this.#events?.length ?? 0) < ledger.limits.eventsMax;
    const kept = isRoom ? ledger.admit(name) : undefined;
    if (kept === undefined) {
      ledger.dropped.events += 1;
      return;
    }
    this.#events ??= [];
    this.#events.push({ name: kept, atUs: atUs ?? ledger.clock.nowUs() });
  }

  traceparent(): string | undefined {
    const { traceId, spanId } = this.#ledger.ids;
    return `00-${traceId}-${spanId(this.index)}-01`;
  }

  detach(): void {
    if (!this.#ledger.isClosed) this.#isDetached = true;
  }

  end(status: SpanStatus = "ok", atUs?: number): void {
    if (this.endUs !== OPEN || this.#ledger.isClosed) return;
    this.endUs = Math.max(this.startUs, atUs ?? this.#ledger.clock.nowUs());
    this.#status = status;
  }

  fail(thrown: unknown, atUs?: number): void {
    if (this.endUs !== OPEN) return;
    const name = errorName(thrown);
    if (name === "AbortError") {
      this.end("cancelled", atUs);
      return;
    }
    this.set("error.type", name);
    this.end("error", atUs);
  }

  toSpan(spanId: (index: number) => string, originUs: number, turnEndUs: number): Span {
    const isOpen = this.endUs === OPEN;
    const links = this.#after?.map(
      (span): SpanLink => ({ spanId: spanId(span.index), relation: "after" }),
    );
    return {
      id: spanId(this.index),
      parentId: this.#parent < 0 ? null : spanId(this.#parent),
      kind: this.#kind,
      name: this.#name,
      startUs: this.startUs - originUs,
      endUs: (isOpen ? Math.max(this.startUs, turnEndUs) : this.endUs) - originUs,
      status: this.#status,
      attributes: this.#attributes,
      events: this.#events?.map(({ name, atUs }) => ({ name, atUs: atUs - originUs })) ?? [],
      links: links ?? [],
      ...(this.#phase !== undefined && { phase: this.#phase }),
      ...(this.#cold !== undefined && { cold: this.#cold }),
      ...(this.#isDetached && { detached: true }),
      ...(isOpen && { unfinished: true }),
    };
  }
}

/** One span for all children of a parent that came after the limit, from the first one's start to the last one's end. */
class StandIn {
  readonly #span: RecordedSpan;
  #open = 0;

  constructor(ledger: SpanLedger, parent: number, startUs: number) {
    this.#span = new RecordedSpan(ledger, parent, "dropped", "spans over the limit", startUs);
  }

  add(): void {
    this.#open += 1;
    this.#span.endUs = OPEN;
  }

  end(atUs: number): void {
    this.#open -= 1;
    if (this.#open === 0) this.#span.end("unset", atUs);
  }
}

class DroppedSpan implements OpenSpan {
  readonly #ledger: SpanLedger;
  readonly #standIn: StandIn;
  #isOpen = true;

  constructor(ledger: SpanLedger, standIn: StandIn) {
    this.#ledger = ledger;
    this.#standIn = standIn;
  }

  begin(): OpenSpan {
    if (this.#ledger.isClosed) return NO_SPAN;
    this.#ledger.dropped.spans += 1;
    this.#standIn.add();
    return new DroppedSpan(this.#ledger, this.#standIn);
  }

  span<Result>(_kind: RecordedKind, _name: string, run: (span: OpenSpan) => Result): Result {
    return runIn(this.begin(), run);
  }

  set(): void {
    if (!this.#ledger.isClosed) this.#ledger.dropped.attributes += 1;
  }

  event(): void {
    if (!this.#ledger.isClosed) this.#ledger.dropped.events += 1;
  }

  /** It will not be there to be anybody's parent. */
  traceparent(): undefined {}

  detach(): void {}

  end(_status?: SpanStatus, atUs?: number): void {
    if (!this.#isOpen || this.#ledger.isClosed) return;
    this.#isOpen = false;
    this.#standIn.end(atUs ?? this.#ledger.clock.nowUs());
  }

  fail(_thrown: unknown, atUs?: number): void {
    this.end("error", atUs);
  }
}

function runIn<Result>(span: OpenSpan, run: (span: OpenSpan) => Result): Result {
  let result: Result;
  try {
    result = run(span);
  } catch (thrown) {
    span.fail(thrown);
    throw thrown;
  }
  if (!isThenable(result)) {
    span.end();
    return result;
  }
  return result.then(
    (value) => {
      span.end();
      return value;
    },
    (thrown: unknown) => {
      span.fail(thrown);
      throw thrown;
    },
  ) as Result;
}

function isThenable(value: unknown): value is PromiseLike<unknown> {
  return typeof (value as { then?: unknown } | null | undefined)?.then === "function";
}

const ERROR_NAME_MAX = 100;

/** The code or the name, never the message: that may hold a prompt or a key. */
function errorName(thrown: unknown): string {
  const { name, code } = (thrown ?? {}) as { name?: unknown; code?: unknown };
  if (name === "AbortError") return name;
  const best = typeof code === "string" && code !== "" ? code : name;
  return typeof best === "string" && best !== "" ? best.slice(0, ERROR_NAME_MAX) : "error";
}
