/** Every fault of the matrix. */
import { type Fault, MATRIX_LIMITS_MS, type Reach } from "./fault.ts";
import {
  refusalBody,
  type StreamWire,
  stepsUntil,
  streamWire,
  type UpstreamApi,
  wholeAnswer,
  wholeSteps,
} from "./fault-wire.ts";
import { chunk, head, json, LAST_CHUNK, type Step } from "./replay-server.ts";

const BOTH = ["stream", "whole"] as const;
const STREAM = ["stream"] as const;
const WHOLE = ["whole"] as const;
const ANY_PHASE = ["head", "before", "after"] as const;
/** Half a call is no text: it cannot be gone on with, and nobody may run it. */
const ANY_OR_TOOL = [...ANY_PHASE, "tool"] as const;
const HEAD = ["head"] as const;
const WITHIN = ["before", "after"] as const;
const WITHIN_OR_TOOL = [...WITHIN, "tool"] as const;
/** For a frame with a name, where the API names its frames. */
const NAMED: Readonly<Record<UpstreamApi, string>> = {
  openai: "",
  responses: "event: response.output_text.delta\n",
  anthropic: "event: content_block_delta\n",
};
/** What needs no limit to be seen. */
const AT_ONCE_MS = 50;

/** What came before, then this. */
function then(...last: readonly Step[]): Fault["steps"] {
  return ({ api, isStream, phase }) => [...stepsUntil(api, isStream, phase), ...last];
}

/** Of a stream that is well but for one thing in its middle. */
function amid(bytesOf: (api: UpstreamApi) => string): Fault["steps"] {
  return ({ api, phase }) => {
    const { first, second, ending } = streamWire(api);
    const bytes = bytesOf(api);
    const rest = phase === "before" ? first + second : second;
    const around = stepsUntil(api, true, phase);
    return [...around, ...[bytes, rest, ending].map(chunked), { bytes: LAST_CHUNK }];
  };
}

function chunked(bytes: string): Step {
  return { bytes: chunk(bytes) };
}

/** Each a write of its own; single bytes would take a busy machine longer than the limits. */
function inPieces({ bytes }: Step): Step[] {
  const whole = Buffer.from(bytes as Uint8Array);
  const pieces: Step[] = [];
  for (let at = 0; at < whole.length; at += 7) {
    pieces.push({ bytes: whole.subarray(at, at + 7), afterMs: 0 });
  }
  return pieces;
}

function repeated(count: number, gapMs: number, step: (wire: StreamWire) => Step): Fault["steps"] {
  return ({ api, phase }) => {
    const one = { ...step(streamWire(api)), afterMs: gapMs };
    return [...stepsUntil(api, true, phase), ...Array.from({ length: count }, () => one)];
  };
}

const BREAKS: Fault[] = (["fin", "rst"] as const).map((end) => ({
  name: `cut by ${end.toUpperCase()}`,
  phases: ANY_OR_TOOL,
  modes: BOTH,
  steps: then({ afterMs: 10, end }),
  limitMs: AT_ONCE_MS,
}));

const SILENCES: Fault[] = [
  {
    name: "silence",
    phases: ANY_OR_TOOL,
    modes: BOTH,
    steps: then(),
    limitMs: MATRIX_LIMITS_MS.firstContent,
  },
  {
    name: "pings alone",
    phases: WITHIN_OR_TOOL,
    modes: STREAM,
    steps: repeated(60, 100, ({ ping }) => chunked(ping)),
    limitMs: MATRIX_LIMITS_MS.firstContent,
  },
  {
    name: "a line that drips without end",
    phases: WITHIN_OR_TOOL,
    modes: STREAM,
    steps: repeated(60, 100, () => chunked("d")),
    limitMs: MATRIX_LIMITS_MS.firstContent,
  },
  {
    name: "a head after 300 ms",
    phases: HEAD,
    modes: BOTH,
    steps: ({ api, isStream }) => [{ afterMs: 300 }, ...wholeSteps(api, isStream)],
    alone: "whole",
    limitMs: 300,
  },
  {
    name: "seven bytes at a time",
    phases: HEAD,
    modes: BOTH,
    steps: ({ api, isStream }) => wholeSteps(api, isStream).flatMap(inPieces),
    alone: "whole",
    limitMs: MATRIX_LIMITS_MS.firstContent,
  },
];

const GARBAGE: Fault[] = [
  {
    name: "another protocol",
    phases: HEAD,
    modes: BOTH,
    steps: then({ bytes: "SSH-2.0-OpenSSH_9.2\r\n\r\n" }),
    limitMs: AT_ONCE_MS,
  },
  {
    name: "bytes that are no header",
    phases: HEAD,
    modes: BOTH,
    steps: then({ bytes: "HTTP/1.1 200 OK\r\nx\0y: \x01\r\n\r\n{}" }),
    limitMs: AT_ONCE_MS,
  },
  {
    name: "bytes that are no chunk",
    phases: WITHIN,
    modes: STREAM,
    steps: then({ bytes: "zz\r\nnonsense\r\n" }),
    limitMs: AT_ONCE_MS,
  },
  {
    name: "a frame that is no JSON",
    phases: WITHIN,
    modes: STREAM,
    steps: amid((api) => `${NAMED[api]}data: {"cho\n\n`),
    alone: "passed",
    withSpare: "passed",
    translated: "in-band",
    limitMs: AT_ONCE_MS,
  },
  {
    name: "a line that is no field",
    phases: WITHIN,
    modes: STREAM,
    steps: amid(() => "\u0001garbage without a colon\n\n"),
    alone: "whole",
    withSpare: "whole",
    limitMs: AT_ONCE_MS,
  },
];

const ERRORS_IN_200: Fault[] = [
  {
    name: "an error event in a 200",
    phases: WITHIN,
    modes: STREAM,
    steps: ({ api, phase }) => [
      ...stepsUntil(api, true, phase),
      chunked(streamWire(api).error),
      { bytes: LAST_CHUNK },
    ],
    limitMs: AT_ONCE_MS,
  },
  {
    name: "an error in a 200's JSON",
    phases: HEAD,
    modes: WHOLE,
    steps: ({ api }) => [{ bytes: json(200, refusalBody(api)) }],
    limitMs: AT_ONCE_MS,
  },
];

/** @param bytes of the body that are declared, as a share of those that come. */
function misdeclared(share: number): Fault["steps"] {
  return ({ api, isStream }) => {
    const { preamble, first, second, ending } = streamWire(api);
    const body = isStream ? preamble + first + second + ending : JSON.stringify(wholeAnswer(api));
    const length = share < 1 && isStream ? (preamble + first).length : body.length * share;
    const type = isStream ? "text/event-stream" : "application/json";
    const opening = head(200, {
      "content-type": type,
      "content-length": String(Math.floor(length)),
    });
    return [
      { bytes: opening + body },
      ...(share > 1 ? [{ afterMs: 20, end: "fin" as const }] : []),
    ];
  };
}

const LENGTHS: Fault[] = [
  {
    name: "a length that is too long",
    phases: HEAD,
    modes: WHOLE,
    steps: misdeclared(2),
    limitMs: AT_ONCE_MS,
  },
  {
    name: "a length that is too short",
    phases: HEAD,
    modes: WHOLE,
    steps: misdeclared(0.5),
    limitMs: AT_ONCE_MS,
  },
  {
    // The protocol's own end has come: nothing is missing.
    name: "a stream's length that is too long",
    phases: HEAD,
    modes: STREAM,
    steps: misdeclared(2),
    alone: "whole",
    limitMs: AT_ONCE_MS,
  },
  {
    name: "a stream's length that is too short",
    phases: ["after"],
    modes: STREAM,
    steps: misdeclared(0.5),
    limitMs: AT_ONCE_MS,
  },
  {
    name: "no length, and FIN as the end",
    phases: HEAD,
    modes: BOTH,
    steps: ({ api, isStream }) => {
      const { preamble, first, second, ending } = streamWire(api);
      const body = isStream ? preamble + first + second + ending : JSON.stringify(wholeAnswer(api));
      const type = isStream ? "text/event-stream" : "application/json";
      return [
        { bytes: head(200, { "content-type": type, connection: "close" }) + body, end: "fin" },
      ];
    },
    alone: "whole",
    limitMs: AT_ONCE_MS,
  },
];

const REFUSALS: Fault[] = [500, 502, 503, 504, 529].map((status) => ({
  name: `${status}`,
  phases: HEAD,
  modes: BOTH,
  steps: ({ api }) => [{ bytes: json(status, refusalBody(api)) }],
  limitMs: AT_ONCE_MS,
}));

const CALLERS_FAULT: Fault[] = [400, 401, 404].map((status) => ({
  name: `${status}, the caller's own`,
  phases: HEAD,
  modes: BOTH,
  steps: ({ api }) => [{ bytes: json(status, refusalBody(api)) }],
  withSpare: "status",
  limitMs: AT_ONCE_MS,
}));

/** Each form of Retry-After, as headers now. */
const RETRY_AFTER: readonly [string, () => Record<string, string>, waitMs: number][] = [
  ["in ms", () => ({ "retry-after-ms": "150", "retry-after": "9" }), 200],
  ["in seconds", () => ({ "retry-after": "1" }), 1_200],
  ["in parts of a second", () => ({ "retry-after": "0.2" }), 250],
  ["as a date", () => ({ "retry-after": new Date(Date.now() + 1_200).toUTCString() }), 1_400],
  [
    "as Anthropic's reset",
    () => ({
      "anthropic-ratelimit-requests-remaining": "0",
      "anthropic-ratelimit-requests-reset": new Date(Date.now() + 300).toISOString(),
    }),
    400,
  ],
  ["that is no time", () => ({ "retry-after": "soon" }), 100],
  ["left out", () => ({}), 100],
];

const LIMITED: Fault[] = [
  ...RETRY_AFTER.map(
    ([form, headers, waitMs]): Fault => ({
      name: `429, Retry-After ${form}`,
      phases: HEAD,
      modes: BOTH,
      steps: ({ api }) => [{ bytes: json(429, refusalBody(api), headers()) }],
      alone: "whole",
      passes: true,
      limitMs: waitMs,
    }),
  ),
  {
    name: "429, Retry-After of an hour",
    phases: HEAD,
    modes: BOTH,
    steps: ({ api }) => [{ bytes: json(429, refusalBody(api), { "retry-after": "3600" }) }],
    passes: true,
    limitMs: AT_ONCE_MS,
  },
];

const UNREACHED: readonly [string, Reach][] = [
  ["connection refused", "refused"],
  ["no such name", "no-name"],
  ["a TLS handshake that nobody answers", "tls-silent"],
  ["a certificate that has expired", "tls-expired"],
  ["a certificate of nobody we trust", "tls-unknown"],
  ["a certificate of another name", "tls-other-name"],
];

const REACHES: Fault[] = [
  ...UNREACHED.map(
    ([name, reach]): Fault => ({
      name,
      reach,
      phases: HEAD,
      modes: BOTH,
      steps: then(),
      limitMs: MATRIX_LIMITS_MS.connect,
    }),
  ),
  {
    name: "a certificate that is good",
    reach: "tls-good",
    phases: HEAD,
    modes: BOTH,
    steps: ({ api, isStream }) => wholeSteps(api, isStream),
    alone: "whole",
    limitMs: AT_ONCE_MS,
  },
  {
    name: "TLS cut",
    reach: "tls-good",
    phases: ANY_PHASE,
    modes: BOTH,
    steps: then({ afterMs: 10, end: "rst" }),
    limitMs: AT_ONCE_MS,
  },
];

export const FAULTS: readonly Fault[] = [
  ...BREAKS,
  ...SILENCES,
  ...GARBAGE,
  ...ERRORS_IN_200,
  ...LENGTHS,
  ...REFUSALS,
  ...CALLERS_FAULT,
  ...LIMITED,
  ...REACHES,
];
