/**
 * What callers send, as bytes: heads as SDKs and HTTP clients write them, which differ in number and order of headers, and
 * bodies from a question to a long conversation with tools.
 */
export type CallerFormat = "openai-chat" | "anthropic-messages";

const PATHS: Readonly<Record<CallerFormat, string>> = {
  "openai-chat": "/v1/chat/completions",
  "anthropic-messages": "/v1/messages",
};

const JSON_TYPE = "content-type: application/json";
const LENGTH = "content-length";
const KEY = "authorization: Bearer rehearsal";

/** Headers in the order of each client; `content-length` gets its value. */
const CHAT_HEADS: readonly (readonly string[])[] = [
  ["host: rehearsal", "connection: keep-alive", JSON_TYPE, KEY, LENGTH],
  [
    "Host: rehearsal",
    "User-Agent: curl/8.14.1",
    "Accept: */*",
    "Authorization: Bearer rehearsal",
    "Content-Type: application/json",
    "Content-Length",
  ],
  [
    "Host: rehearsal",
    "Accept-Encoding: gzip, deflate",
    "Connection: keep-alive",
    "Accept: application/json",
    "Content-Type: application/json",
    "User-Agent: OpenAI/Python 2.8.1",
    "X-Stainless-Lang: python",
    "X-Stainless-Package-Version: 2.8.1",
    "X-Stainless-OS: Linux",
    "X-Stainless-Arch: x64",
    "X-Stainless-Runtime: CPython",
    "X-Stainless-Runtime-Version: 3.13.5",
    "Authorization: Bearer rehearsal",
    "X-Stainless-Async: false",
    "x-stainless-retry-count: 0",
    "x-stainless-read-timeout: 600",
    "Content-Length",
  ],
  [
    "host: rehearsal",
    "connection: keep-alive",
    "accept: application/json",
    JSON_TYPE,
    "user-agent: OpenAI/JS 6.10.0",
    "x-stainless-retry-count: 0",
    "x-stainless-timeout: 600",
    "x-stainless-lang: js",
    "x-stainless-package-version: 6.10.0",
    "x-stainless-os: Linux",
    "x-stainless-arch: x64",
    "x-stainless-runtime: node",
    "x-stainless-runtime-version: v20.20.2",
    KEY,
    "accept-language: *",
    "sec-fetch-mode: cors",
    "accept-encoding: gzip, deflate",
    LENGTH,
  ],
  [
    "Host: rehearsal",
    "User-Agent: python-requests/2.32.5",
    "Accept-Encoding: gzip, deflate",
    "Accept: */*",
    "Connection: keep-alive",
    "Content-Length",
    "Content-Type: application/json",
    "traceparent: 00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01",
  ],
  [
    "Host: rehearsal",
    "User-Agent: Go-http-client/1.1",
    "Content-Length",
    "Authorization: Bearer rehearsal",
    "Content-Type: application/json",
    "Accept-Encoding: gzip",
  ],
  [
    "Host: rehearsal",
    "Authorization: Bearer rehearsal",
    "Accept: */*",
    "Accept-Encoding: gzip, deflate",
    "User-Agent: Python/3.13 aiohttp/3.13.2",
    "Content-Length",
    "Content-Type: application/json",
  ],
];

const CLAUDE_HEADS = CHAT_HEADS.map((head) =>
  head.flatMap((line) =>
    /^authorization:/i.test(line)
      ? ["anthropic-version: 2023-06-01", "x-api-key: rehearsal"]
      : [line],
  ),
);

const QUESTION = { role: "user", content: "Is what is compiled early compiled well?" };
const LONG = { role: "user", content: "Is what is compiled early compiled well? ".repeat(50) };
const ELSEWHERE = { role: "user", content: "早编译的代码编译得好吗？¿Y aquí? ".repeat(20) };
const SYSTEM = "You answer in one sentence, and say so when you do not know. ".repeat(20);
const TALK = Array.from({ length: 8 }, (_, i) =>
  i % 2 === 0 ? LONG : { role: "assistant", content: "It is, mostly." },
);
const SCHEMA = {
  type: "object",
  properties: { at: { type: "integer", description: "Where to look." } },
  required: ["at"],
};
const TOOL = { name: "look_up", description: "Looks something up." };
const CHAT_TOOLS = [{ type: "function", function: { ...TOOL, parameters: SCHEMA } }];
const CLAUDE_TOOLS = [{ ...TOOL, input_schema: SCHEMA }];

function chatBodies(model: string, stream: boolean): object[] {
  const system = { role: "system", content: SYSTEM };
  return [
    { model, stream, messages: [LONG] },
    { model, messages: [QUESTION], max_tokens: 64, temperature: 0, ...(stream && { stream }) },
    { messages: [system, LONG], model, stream, stream_options: { include_usage: true } },
    { model, messages: [system, ...TALK], tools: CHAT_TOOLS, max_completion_tokens: 512, stream },
    { model, stream, messages: [ELSEWHERE], user: "rehearsal" },
  ];
}

function claudeBodies(model: string, stream: boolean): object[] {
  return [
    { model, max_tokens: 512, messages: [LONG], stream },
    { max_tokens: 1_024, messages: [QUESTION], model, ...(stream && { stream }) },
    {
      model,
      max_tokens: 512,
      system: SYSTEM,
      messages: TALK.slice(0, 7),
      tools: CLAUDE_TOOLS,
      stream,
    },
  ];
}

function request(path: string, head: readonly string[], body: object): Buffer {
  const bytes = Buffer.from(JSON.stringify(body));
  const lines = head.map((line) =>
    line.toLowerCase() === LENGTH ? `${line}: ${bytes.length}` : line,
  );
  return Buffer.concat([
    Buffer.from(`POST ${path} HTTP/1.1\r\n${lines.join("\r\n")}\r\n\r\n`),
    bytes,
  ]);
}

/** One call in so many is a stream. */
const STREAM_EVERY = 4;

export interface Asked {
  readonly model: string;
  readonly format: CallerFormat;
}

/**
 * @param asked in turn; one that stands in it twice is asked for twice as often.
 * @returns each head with each body, as whole answer and as stream, so mixed that any stretch of it is a sample.
 */
export function callerRequests(asked: readonly Asked[]): Buffer[] {
  // Three numbers without a common divisor: all of their pairs come up.
  const turns = CHAT_HEADS.length * chatBodies("", false).length * STREAM_EVERY;
  const mixed = asked.map(({ model, format }) => {
    const isChat = format === "openai-chat";
    const heads = isChat ? CHAT_HEADS : CLAUDE_HEADS;
    const bodiesFor = isChat ? chatBodies : claudeBodies;
    const [whole, streamed] = [bodiesFor(model, false), bodiesFor(model, true)];
    return Array.from({ length: turns }, (_, i) => {
      const bodies = i % STREAM_EVERY === 0 ? streamed : whole;
      return request(PATHS[format], heads[i % heads.length]!, bodies[i % bodies.length]!);
    });
  });
  return Array.from({ length: turns }, (_, i) => mixed.map((requests) => requests[i]!)).flat();
}
