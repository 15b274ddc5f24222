/**
 * Turns as they are learnt from: the input, and per step how long the model thought and what it called. Written by a
 * `Prefetcher` (`onTurn`), or read from turn documents whose tool spans carry their arguments. What is neither is set aside
 * and counted.
 */
import { isRecord } from "./json-pointer.ts";

export interface LoggedCall {
  readonly tool: string;
  readonly args: unknown;
  /** Missing if the call failed. */
  readonly result?: unknown;
  /** µs. */
  readonly tookUs: number;
}

export interface LoggedStep {
  /** µs from the step's begin to the end of the message. */
  readonly thinkUs: number;
  readonly calls: readonly LoggedCall[];
}

export interface LoggedTurn {
  readonly input?: unknown;
  /** The last one, the answer, has no calls. */
  readonly steps: readonly LoggedStep[];
}

export interface TurnLog {
  /** One at a time: a log may be larger than memory. */
  readonly turns: Iterable<LoggedTurn>;
  /** Lines that are no turn. Complete when `turns` has been read. */
  readonly counts: { turns: number; setAside: number; beyondLimit: number };
}

/** Further turns are counted and left out. */
const TURNS_MAX = 1_000_000;
const LINE_CHARS_MAX = 8 * 1024 * 1024;
const STEPS_MAX = 1_000;
const CALLS_MAX = 1_000;
const NAME = /^[a-zA-Z0-9_-]{1,64}$/;

/** @param lines JSON text or parsed, a turn each. Blank lines are nothing. */
export function turnLog(lines: Iterable<unknown>): TurnLog {
  const counts = { turns: 0, setAside: 0, beyondLimit: 0 };
  function* turns(): Generator<LoggedTurn> {
    for (const line of lines) {
      if (typeof line === "string" && line.trim() === "") continue;
      const turn = loggedTurn(line);
      if (turn === undefined) counts.setAside += 1;
      else if (counts.turns >= TURNS_MAX) counts.beyondLimit += 1;
      else {
        counts.turns += 1;
        yield turn;
      }
    }
  }
  return { turns: turns(), counts };
}

/** @returns undefined for what is no turn. */
function loggedTurn(line: unknown): LoggedTurn | undefined {
  const value = typeof line === "string" ? parsed(line) : line;
  if (!isRecord(value)) return undefined;
  if (value.kind === "turn" && Array.isArray(value.spans)) return fromSpans(value.spans);
  const { input, steps } = value;
  if (!Array.isArray(steps) || steps.length === 0 || steps.length > STEPS_MAX) return undefined;
  const read = steps.map(loggedStep);
  return read.includes(undefined) ? undefined : { input, steps: read as LoggedStep[] };
}

function loggedStep(value: unknown): LoggedStep | undefined {
  if (!isRecord(value) || !isTime(value.thinkUs)) return undefined;
  if (!Array.isArray(value.calls) || value.calls.length > CALLS_MAX) return undefined;
  const calls = value.calls.map(loggedCall);
  if (calls.includes(undefined)) return undefined;
  return { thinkUs: value.thinkUs, calls: calls as LoggedCall[] };
}

function loggedCall(value: unknown): LoggedCall | undefined {
  if (!isRecord(value) || typeof value.tool !== "string" || !NAME.test(value.tool))
    return undefined;
  if (!isRecord(value.args) || !isTime(value.tookUs)) return undefined;
  const { tool, args, result, tookUs } = value;
  return { tool, args, tookUs, ...(result !== undefined && { result }) };
}

/** A turn document says nothing of arguments unless whoever recorded it set OpenTelemetry's opt-in attributes. */
function fromSpans(spans: readonly unknown[]): LoggedTurn | undefined {
  const known = spans.filter(isSpan).sort((a, b) => a.startUs - b.startUs);
  const steps = known.filter(({ kind }) => kind === "step");
  if (steps.length === 0 || steps.length > STEPS_MAX) return undefined;
  const read: LoggedStep[] = [];
  for (const step of steps) {
    const own = known.filter(({ parentId }) => parentId === step.id);
    const calls: LoggedCall[] = [];
    for (const span of own) {
      if (span.kind !== "tool-call" || span.detached === true) continue;
      const call = callOf(span);
      if (call === undefined) return undefined;
      calls.push(call);
    }
    const model = own.find(({ kind }) => kind === "model-call");
    read.push({ thinkUs: model === undefined ? 0 : model.endUs - step.startUs, calls });
  }
  return { steps: read };
}

interface KnownSpan {
  readonly id: unknown;
  readonly parentId: unknown;
  readonly kind: unknown;
  readonly startUs: number;
  readonly endUs: number;
  readonly detached?: unknown;
  readonly attributes: Readonly<Record<string, unknown>>;
}

function isSpan(span: unknown): span is KnownSpan {
  if (!isRecord(span) || !isRecord(span.attributes)) return false;
  return isTime(span.startUs) && isTime(span.endUs) && span.endUs >= span.startUs;
}

function callOf({ attributes, startUs, endUs }: KnownSpan): LoggedCall | undefined {
  const text = attributes["gen_ai.tool.call.arguments"];
  const result = attributes["gen_ai.tool.call.result"];
  if (typeof text !== "string") return undefined;
  return loggedCall({
    tool: attributes["gen_ai.tool.name"],
    args: parsed(text),
    tookUs: endUs - startUs,
    ...(typeof result === "string" && { result: parsed(result) ?? result }),
  });
}

function parsed(text: string): unknown {
  if (text.length > LINE_CHARS_MAX) return undefined;
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

function isTime(value: unknown): value is number {
  return typeof value === "number" && Number.isFinite(value) && value >= 0;
}
