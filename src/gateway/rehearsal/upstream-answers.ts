/**
 * What upstreams answer, as bytes: heads as engines, providers and their proxies send them, whole answers with a length and
 * in chunks, streams with one event in a read and with several, with reasoning, tool calls and usage; now and then a refusal.
 */

/** Bytes that are written one after the other, each part in a turn of its own. */
export interface Answer {
  readonly parts: readonly Buffer[];
  /** Between two of them. */
  readonly gapMs: number;
}

const DATE = "date: Mon, 30 Nov 2026 00:00:00 GMT";
/** Of an engine behind uvicorn, of a provider behind a balancer, and of a server in Node. */
const HEADS: readonly (readonly string[])[] = [
  [DATE, "server: uvicorn"],
  [
    "Date: Mon, 30 Nov 2026 00:00:00 GMT",
    "Connection: keep-alive",
    "Server: proxy",
    "x-request-id: req_rehearsal",
    "openai-processing-ms: 312",
    "openai-version: 2020-10-01",
    "x-ratelimit-limit-requests: 10000",
    "x-ratelimit-remaining-requests: 9999",
    "x-ratelimit-reset-requests: 6ms",
    "strict-transport-security: max-age=31536000",
    'alt-svc: h3=":443"; ma=86400',
  ],
  ["Date: Mon, 30 Nov 2026 00:00:00 GMT", "Connection: keep-alive", "Keep-Alive: timeout=300"],
];

const SHORT = "It is.";
const LONG = "What is run often is compiled, and what is compiled runs fast: 越跑越快。 ".repeat(6);

function whole(head: readonly string[], body: unknown, isChunked: boolean): Answer {
  const bytes = Buffer.from(JSON.stringify(body));
  const length = isChunked ? "transfer-encoding: chunked" : `content-length: ${bytes.length}`;
  const lines = ["HTTP/1.1 200 OK", ...head, "content-type: application/json", length];
  const start = Buffer.from(`${lines.join("\r\n")}\r\n\r\n`);
  const parts = [Buffer.concat([start, isChunked ? chunks([bytes, EMPTY]) : bytes])];
  return { parts, gapMs: 0 };
}

const EMPTY = Buffer.alloc(0);

/** @param parts an empty one ends the message. */
function chunks(parts: readonly Buffer[]): Buffer {
  const framed = parts.map((part) =>
    Buffer.concat([Buffer.from(`${part.length.toString(16)}\r\n`), part, Buffer.from("\r\n")]),
  );
  return Buffer.concat(framed);
}

interface Pace {
  /** Events that are written together; a half cuts each in two. */
  readonly perRead: number;
  readonly gapMs: number;
}

/** As one follows the other from a model, from a busy one, from behind a proxy that gathers, and cut anywhere. */
const PACES: readonly Pace[] = [
  { perRead: 1, gapMs: 2 },
  { perRead: 1, gapMs: 0 },
  { perRead: 3, gapMs: 0 },
  { perRead: 0.5, gapMs: 0 },
];

function stream(head: readonly string[], events: readonly string[], pace: Pace): Answer {
  const { perRead, gapMs } = pace;
  const type = "content-type: text/event-stream; charset=utf-8";
  const lines = ["HTTP/1.1 200 OK", ...head, type, "transfer-encoding: chunked"];
  const parts: Buffer[] = [Buffer.from(`${lines.join("\r\n")}\r\n\r\n`)];
  const frames = events.map((event) => Buffer.from(event));
  if (perRead < 1) {
    for (const frame of frames) {
      const middle = Math.floor(frame.length * perRead);
      parts.push(chunks([frame.subarray(0, middle)]), chunks([frame.subarray(middle)]));
    }
  } else {
    for (let i = 0; i < frames.length; i += perRead) {
      parts.push(chunks(frames.slice(i, i + perRead)));
    }
  }
  parts.push(chunks([EMPTY]));
  return { parts, gapMs };
}

const CHAT = { id: "chatcmpl-rehearsal", created: 1_764_460_800, model: "rehearsal" };
const CHAT_USAGE = {
  prompt_tokens: 412,
  completion_tokens: 36,
  total_tokens: 448,
  prompt_tokens_details: { cached_tokens: 256 },
};

function chatWhole(content: string): object {
  const message = { role: "assistant", content };
  const choices = [{ index: 0, message, finish_reason: "stop" }];
  return { ...CHAT, object: "chat.completion", choices, usage: CHAT_USAGE };
}

const CHAT_TOOLS = {
  ...CHAT,
  object: "chat.completion",
  choices: [
    {
      index: 0,
      message: {
        role: "assistant",
        content: null,
        tool_calls: [
          { id: "call_1", type: "function", function: { name: "look_up", arguments: '{"at":1}' } },
        ],
      },
      finish_reason: "tool_calls",
    },
  ],
  usage: CHAT_USAGE,
};

function chatEvent(delta: object, finish: string | null = null, usage?: object): string {
  const choices = [{ index: 0, delta, finish_reason: finish }];
  const chunk = { ...CHAT, object: "chat.completion.chunk", choices };
  return `data: ${JSON.stringify(usage === undefined ? chunk : { ...chunk, usage })}\n\n`;
}

function chatEvents(deltas: readonly object[], finish: string, hasUsage: boolean): string[] {
  const usage = { ...CHAT, object: "chat.completion.chunk", choices: [], usage: CHAT_USAGE };
  return [
    chatEvent({ role: "assistant", content: "" }),
    ...deltas.map((delta) => chatEvent(delta)),
    chatEvent({}, finish),
    ...(hasUsage ? [`data: ${JSON.stringify(usage)}\n\n`] : []),
    "data: [DONE]\n\n",
  ];
}

const words = (count: number, name = "content"): object[] =>
  Array.from({ length: count }, (_, i) => ({ [name]: ` word ${i}` }));

function toolDeltas(): object[] {
  const begin = { index: 0, id: "call_1", type: "function" };
  const first = { ...begin, function: { name: "look_up", arguments: "" } };
  const rest = ['{"at"', ": 1", "}"].map((piece) => ({
    index: 0,
    function: { arguments: piece },
  }));
  return [first, ...rest].map((call) => ({ tool_calls: [call] }));
}

const CHAT_STREAMS: readonly string[][] = [
  chatEvents(words(20), "stop", false),
  chatEvents(words(20), "stop", true),
  chatEvents([...words(6, "reasoning_content"), ...words(12)], "stop", true),
  chatEvents([...words(4), ...toolDeltas()], "tool_calls", false),
];

const CLAUDE_USAGE = { input_tokens: 412, output_tokens: 36, cache_read_input_tokens: 256 };
const CLAUDE = { id: "msg_rehearsal", type: "message", role: "assistant", model: "rehearsal" };

function claudeWhole(text: string): object {
  const content = [{ type: "text", text }];
  return { ...CLAUDE, content, stop_reason: "end_turn", stop_sequence: null, usage: CLAUDE_USAGE };
}

function named(data: { readonly type: string }): string {
  return `event: ${data.type}\ndata: ${JSON.stringify(data)}\n\n`;
}

function claudeEvents(count: number): string[] {
  const message = { ...CLAUDE, content: [], stop_reason: null, usage: CLAUDE_USAGE };
  const delta = { stop_reason: "end_turn", stop_sequence: null };
  const ofText = words(count, "text").map((part) =>
    named({
      type: "content_block_delta",
      index: 0,
      delta: { type: "text_delta", ...part },
    } as never),
  );
  const all = [
    { type: "message_start", message },
    { type: "content_block_start", index: 0, content_block: { type: "text", text: "" } },
    { type: "ping" },
  ];
  const end = [
    { type: "content_block_stop", index: 0 },
    { type: "message_delta", delta, usage: { output_tokens: 36 } },
    { type: "message_stop" },
  ];
  return [...all.map(named), ...ofText, ...end.map(named)];
}

const REFUSED = Buffer.from('{"error":{"message":"a moment, please","type":"rate_limit"}}');
const REFUSED_HEAD = [
  "HTTP/1.1 429 Too Many Requests",
  "content-type: application/json",
  "retry-after-ms: 1",
  `content-length: ${REFUSED.length}`,
];
const REFUSAL: Answer = {
  parts: [Buffer.from(`${REFUSED_HEAD.join("\r\n")}\r\n\r\n${REFUSED}`)],
  gapMs: 0,
};

/** So often does each come again before one attempt is refused, and made again. */
const ROUNDS = 8;

function cycle(answers: readonly Answer[]): readonly Answer[] {
  return [REFUSAL, ...Array.from({ length: ROUNDS }, () => answers).flat()];
}

const CHAT_ANSWERS = cycle(
  HEADS.flatMap((head) => [
    whole(head, chatWhole(SHORT), false),
    whole(head, chatWhole(LONG), false),
    whole(head, chatWhole(LONG), true),
    whole(head, CHAT_TOOLS, false),
  ]),
);
const CHAT_STREAMED = cycle(
  HEADS.flatMap((head, i) =>
    // Moved on by one with each head, so that no kind of events has one pace.
    CHAT_STREAMS.map((events, j) => stream(head, events, PACES[(i + j) % PACES.length]!)),
  ),
);
const CLAUDE_ANSWERS = cycle(
  HEADS.flatMap((head) => [
    whole(head, claudeWhole(SHORT), false),
    whole(head, claudeWhole(LONG), true),
  ]),
);
const CLAUDE_STREAMED = cycle(
  HEADS.flatMap((head) => PACES.map((pace) => stream(head, claudeEvents(16), pace))),
);

/** @param request as text. @returns what there is to answer it with, in turn. */
export function answersTo(request: string): readonly Answer[] {
  const isStream = request.includes('"stream":true');
  const isClaude = request.slice(0, 200).includes("/messages");
  if (isClaude) return isStream ? CLAUDE_STREAMED : CLAUDE_ANSWERS;
  return isStream ? CHAT_STREAMED : CHAT_ANSWERS;
}
