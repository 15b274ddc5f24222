/**
 * When a model call's first output came, out of the many places in which instrumentations say it, in three units and with
 * known lies (casebook TR-10): an event comes before an attribute in ms, that before one in seconds; what cannot be true is
 * left out and said.
 */
import type { AttributeValue } from "../span.ts";
import { FIRST_OUTPUT_EVENTS } from "./first-output.ts";
import { figure } from "./otlp-value.ts";
import type { OtlpReadSpan } from "./read-otlp.ts";

export interface FirstOutput {
  /** ns after the span's start. */
  readonly afterNs: bigint | undefined;
  readonly isUnitGuessed: boolean;
  /** What was found and not believed, or found twice with another value. */
  readonly doubts: readonly string[];
}

const EVENTS: ReadonlySet<string> = new Set([
  ...FIRST_OUTPUT_EVENTS,
  "gen_ai.content.completion.chunk",
  "llm.content.completion.chunk",
  "gen_ai.content.first",
  "gen_ai.first_token",
  "first_token",
  "llm.first_token",
  "ai.stream.firstChunk",
]);

const IN_MS = ["ai.response.msToFirstChunk", "ai.stream.msToFirstChunk"];
const IN_S = [
  "gen_ai.response.time_to_first_chunk",
  "gen_ai.client.operation.time_to_first_chunk",
  "gen_ai.client.inference.time_to_first_chunk",
  "gen_ai.response.time_to_first_token",
  "time_to_first_token",
];
/** Seconds in the convention, ms from several gateways and frameworks. */
const IN_S_OR_MS = ["gen_ai.server.time_to_first_token"];
const INSTANT = "langfuse.observation.completion_start_time";

/** No network and no engine answers sooner; less is the stamp of a role or a framing chunk. */
const LEAST_NS = 500_000n;
/** An event this close to the end was written with the end, not when it happened. */
const END_NS = 1_000_000n;
/** Two sources within this agree. */
const AGREE_NS = 20_000_000n;
const MS_NS = 1_000_000;
const S_NS = 1_000_000_000;

interface Candidate {
  readonly source: string;
  readonly ns: bigint;
  readonly isUnitGuessed: boolean;
}

export function readFirstOutput(span: OtlpReadSpan): FirstOutput {
  const durationNs = span.endNs - span.startNs;
  const doubts: string[] = [];
  const believed = candidates(span, durationNs).filter(({ source, ns }) => {
    const reason =
      ns < LEAST_NS
        ? "is sooner than any answer can be"
        : ns > durationNs
          ? "is after the span's end"
          : ns === durationNs
            ? "equals the duration"
            : undefined;
    if (reason !== undefined) doubts.push(`${source} ${reason}`);
    return reason === undefined;
  });
  const [best, ...others] = believed;
  for (const { source, ns } of others) {
    const apartNs = ns > best!.ns ? ns - best!.ns : best!.ns - ns;
    if (apartNs > AGREE_NS) doubts.push(`${source} contradicts ${best!.source}`);
  }
  return { afterNs: best?.ns, isUnitGuessed: best?.isUnitGuessed ?? false, doubts };
}

/** Best source first. */
function candidates(span: OtlpReadSpan, durationNs: bigint): Candidate[] {
  const { attributes, events, startNs, endNs, droppedEvents } = span;
  const found: Candidate[] = [];
  const add = (source: string, ns: number | bigint | undefined, isUnitGuessed = false): void => {
    if (ns === undefined) return;
    const whole = typeof ns === "bigint" ? ns : BigInt(Math.round(ns));
    found.push({ source, ns: whole, isUnitGuessed });
  };
  const event = events.find(({ name }) => EVENTS.has(name));
  // The SDKs drop the oldest events: what is left first is then not the first.
  const isFirst = event !== undefined && droppedEvents === 0 && endNs - event.atNs > END_NS;
  if (isFirst) add(event.name, event.atNs - startNs);
  for (const name of IN_MS) add(name, scaled(attributes[name], MS_NS));
  for (const name of IN_S) add(name, scaled(attributes[name], S_NS));
  for (const name of IN_S_OR_MS) {
    const ns = scaled(attributes[name], S_NS);
    const isMs = ns !== undefined && BigInt(Math.round(ns)) > durationNs;
    add(name, isMs ? scaled(attributes[name], MS_NS) : ns, isMs);
  }
  add(INSTANT, instant(attributes[INSTANT], startNs));
  return found;
}

/** No answer takes a day; a larger figure is no time. */
const LONGEST_NS = 86_400 * S_NS;

function scaled(value: AttributeValue | undefined, unitNs: number): number | undefined {
  const number = figure(value);
  if (number === undefined || !(number >= 0) || number * unitNs > LONGEST_NS) return undefined;
  return number * unitNs;
}

function instant(value: AttributeValue | undefined, startNs: bigint): bigint | undefined {
  if (typeof value !== "string") return undefined;
  const ms = Date.parse(value.replaceAll('"', ""));
  return Number.isFinite(ms) ? BigInt(ms) * 1_000_000n - startNs : undefined;
}
