/**
 * How a fault is written: in a request's body, in its header `x-manx-fault`, and in a config file. One form for all
 * three, since a fault that was tried on one request is what goes into the file afterwards.
 *
 *     {"kind": "stall", "after": 5, "for": "2s"}          x-manx-fault: stall; after=5; for=2s
 */
import { z } from "zod";
import { duration, issueText, share } from "../config/index.ts";
import { parseDurationUs } from "../core/index.ts";
import {
  FAULT_KINDS,
  FAULT_STATUSES,
  type Fault,
  type FaultKind,
  type FaultShare,
  type FaultStatus,
} from "./fault.ts";
import { asObject, invalid, refuseUnknownFields, unknownName } from "./fields.ts";

/** Longest silence that can be asked for; "no `for`" is longer than all. */
const LONGEST_US = 3_600_000_000;

const after = z
  .int()
  .min(0)
  .max(1_000_000)
  .default(1)
  .describe("chunks that are sent before it happens; 0 is right after the head");
const pings = duration.optional().describe("sends a comment this often in the silence");
const model = z
  .string()
  .min(1)
  .max(200)
  .default("another-model")
  .describe("the name that the chunks carry from there on");
const refuseFor = duration.default("1s").describe("how long connections are refused");

function statusShape<Kind extends `${FaultStatus}`>(kind: Kind, summary: string) {
  return z
    .strictObject({
      kind: z.literal(kind),
      retry: duration.optional().describe("when the client may come back; default: not said"),
      form: z
        .enum(["seconds", "ms", "date"])
        .default("seconds")
        .describe("Retry-After in seconds or as a date, or the header retry-after-ms"),
    })
    .describe(summary);
}

/** A member for each kind; `share` is added where all traffic is meant. */
const FAULT_SHAPES = {
  stall: z
    .strictObject({
      kind: z.literal("stall"),
      after,
      for: duration.optional().describe("default: until the client leaves"),
      pings,
    })
    .describe("Silence in mid-answer; what the engine made meanwhile follows at once."),
  "slow-headers": z
    .strictObject({ kind: z.literal("slow-headers"), for: duration.default("1s") })
    .describe("The head of the answer is kept back."),
  "slow-drip": z
    .strictObject({
      kind: z.literal("slow-drip"),
      after,
      gap: duration.default("200ms").describe("least time between two chunks"),
      pings,
    })
    .describe("One chunk at a time, never silent for long, never done."),
  cut: z
    .strictObject({
      kind: z.literal("cut"),
      after,
      how: z
        .enum(["fin", "rst", "end"])
        .default("rst")
        .describe("fin and rst break the transfer; end closes it well, too early"),
    })
    .describe("The connection is lost in mid-answer."),
  "error-in-stream": z
    .strictObject({
      kind: z.literal("error-in-stream"),
      after,
      status: z.literal(FAULT_STATUSES).default(500).describe("what it would be before the head"),
    })
    .describe("An error event in an answer that began with 200."),
  "malformed-frame": z
    .strictObject({ kind: z.literal("malformed-frame"), after })
    .describe("An event whose data is no JSON; the rest follows as if nothing were."),
  "model-change": z
    .strictObject({ kind: z.literal("model-change"), after, model })
    .describe("Another model's name in the answer, without a word."),
  hang: z
    .strictObject({ kind: z.literal("hang") })
    .describe("The request is taken and never answered, until the client leaves."),
  refuse: z
    .strictObject({ kind: z.literal("refuse"), for: refuseFor })
    .describe("This request is reset, and nobody gets a connection for a while."),
  "429": statusShape("429", "Too many requests."),
  "500": statusShape("500", "An internal error."),
  "503": statusShape("503", "Unavailable."),
  "529": statusShape("529", "Overloaded, as Anthropic's API says it."),
} as const satisfies Record<FaultKind, z.ZodObject>;

/** `extend` leaves the description behind. */
function shared<Shape extends z.ZodObject>(shape: Shape) {
  return shape.extend({ share }).describe(shape.description ?? "");
}

/** A fault of all traffic, as a config file has it: the kind's fields and `share`. */
export const faultShareSchema = z.discriminatedUnion("kind", [
  shared(FAULT_SHAPES.stall),
  shared(FAULT_SHAPES["slow-headers"]),
  shared(FAULT_SHAPES["slow-drip"]),
  shared(FAULT_SHAPES.cut),
  shared(FAULT_SHAPES["error-in-stream"]),
  shared(FAULT_SHAPES["malformed-frame"]),
  shared(FAULT_SHAPES["model-change"]),
  shared(FAULT_SHAPES.hang),
  shared(FAULT_SHAPES.refuse),
  shared(FAULT_SHAPES["429"]),
  shared(FAULT_SHAPES["500"]),
  shared(FAULT_SHAPES["503"]),
  shared(FAULT_SHAPES["529"]),
]);

type Written = z.output<(typeof FAULT_SHAPES)[FaultKind]>;

/** @param where path of the value, such as `manx.fault`. @throws MANX_REQUEST_INVALID, MANX_DURATION */
export function parseFault(value: unknown, where: string): Fault {
  const fields = asObject(value, where);
  const kind = kindOf(fields.kind, `${where}.kind`);
  const shape = FAULT_SHAPES[kind];
  refuseUnknownFields(fields, Object.keys(shape.shape), where);
  const checked = shape.safeParse({ ...fields, kind });
  if (checked.success) return faultOf(checked.data, where);
  const issue = checked.error.issues[0]!;
  throw invalid([where, ...issue.path].join("."), issueText(issue), fields[String(issue.path[0])]);
}

/** `kind; name=value; …`, or the JSON form. @throws MANX_REQUEST_INVALID, MANX_DURATION */
export function parseFaultHeader(text: string): Fault {
  const where = "x-manx-fault";
  return parseFault(faultFields(text, where), where);
}

/** The fields of a fault in the header's form, or in JSON; not checked. @throws MANX_REQUEST_INVALID */
export function faultFields(text: string, where: string): unknown {
  if (text.trimStart().startsWith("{")) return jsonOf(text, where);
  const [kind = "", ...pairs] = text.split(";").map((part) => part.trim());
  const fields: [string, unknown][] = [["kind", kind]];
  for (const pair of pairs.filter((one) => one !== "")) {
    const at = pair.indexOf("=");
    if (at < 1) throw invalid(where, "name=value after the kind", pair);
    const name = pair.slice(0, at).trim();
    const value = pair.slice(at + 1).trim();
    fields.push([name, /^(\d+\.?\d*|\.\d+)$/.test(value) ? Number(value) : value]);
  }
  return Object.fromEntries(fields);
}

/** @param value as `FAULT_SHAPES` with a `share` beside. @throws MANX_DURATION, MANX_REQUEST_INVALID */
export function parseFaultShare(value: unknown, where: string): FaultShare {
  const { share, ...written } = asObject(value, where);
  if (!(typeof share === "number" && share >= 0 && share <= 1)) {
    throw invalid(`${where}.share`, "a number from 0 to 1", share);
  }
  return { share, fault: parseFault(written, where) };
}

function kindOf(value: unknown, where: string): FaultKind {
  // A status may be written as the number that it is.
  const kind = FAULT_KINDS.find((one) => one === value || Number(one) === value);
  if (kind !== undefined) return kind;
  throw unknownName(where, FAULT_KINDS, value);
}

function jsonOf(text: string, where: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    throw invalid(where, "a kind, or an object in JSON", text);
  }
}

function faultOf(written: Written, where: string): Fault {
  const time = (text: string, name: string): number => {
    const us = parseDurationUs(text, `${where}.${name}`);
    if (us <= LONGEST_US) return us;
    throw invalid(`${where}.${name}`, "at most an hour", text);
  };
  const maybe = (text: string | undefined, name: string): number | undefined =>
    text === undefined ? undefined : time(text, name);
  switch (written.kind) {
    case "stall": {
      const { kind, after, pings } = written;
      const forUs = maybe(written.for, "for") ?? Number.POSITIVE_INFINITY;
      return { kind, after, forUs, pingUs: pingOf(maybe(pings, "pings"), where) };
    }
    case "slow-drip": {
      const { kind, after, gap, pings } = written;
      return { kind, after, gapUs: time(gap, "gap"), pingUs: pingOf(maybe(pings, "pings"), where) };
    }
    case "slow-headers":
    case "refuse":
      return { kind: written.kind, forUs: time(written.for, "for") };
    case "429":
    case "500":
    case "503":
    case "529":
      return {
        kind: written.kind,
        retryUs: maybe(written.retry, "retry"),
        form: written.form,
      };
    default:
      return written;
  }
}

/** A ping every microsecond would be an attack on ourselves. */
function pingOf(pingUs: number | undefined, where: string): number | undefined {
  if (pingUs === undefined || pingUs >= 1_000) return pingUs;
  throw invalid(`${where}.pings`, 'at least "1ms"', `${pingUs} µs`);
}
