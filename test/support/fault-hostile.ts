/** Requests that no honest client sends, as bytes on a socket: what they are, and what the gateway must answer. */

export interface HostileCase {
  readonly name: string;
  readonly bytes: Buffer;
  /** Statuses that are right; 0: closed without an answer. */
  readonly statuses: readonly number[];
  /** Some of it may reach the upstream: the request is odd, and means one thing only. */
  readonly isForwarded?: boolean;
}

const BAD = [400] as const;

function request(
  line: string,
  headers: string,
  body: string | Buffer = "",
  end = "connection: close\r\n\r\n",
): Buffer {
  return Buffer.concat([
    Buffer.from(`${line}\r\nhost: x\r\n${headers}${end}`, "latin1"),
    Buffer.from(body as string),
  ]);
}

const POST = "POST /v1/chat/completions HTTP/1.1";
const SECOND = "GET /v1/models HTTP/1.1\r\nhost: x\r\n\r\n";

function chat(body: string | Buffer, headers = ""): Buffer {
  const bytes = Buffer.from(body as string);
  return request(POST, `${headers}content-length: ${bytes.length}\r\n`, bytes);
}

/** Two readings of where a request ends, or of what a header says. */
export const SMUGGLING: readonly HostileCase[] = [
  ["two lengths", "content-length: 2\r\ncontent-length: 3\r\n", "{}"],
  ["two equal lengths", "content-length: 2\r\ncontent-length: 2\r\n", "{}"],
  ["a list of lengths", "content-length: 2, 2\r\n", "{}"],
  ["a signed length", "content-length: +2\r\n", "{}"],
  ["a negative length", "content-length: -2\r\n", "{}"],
  ["a length in hexadecimal", "content-length: 0x2\r\n", "{}"],
  ["a length beyond any number", `content-length: ${"9".repeat(30)}\r\n`, "{}"],
  [
    "length and chunks",
    "content-length: 2\r\ntransfer-encoding: chunked\r\n",
    `0\r\n\r\n${SECOND}`,
  ],
  ["chunks twice", "transfer-encoding: chunked\r\ntransfer-encoding: chunked\r\n", "0\r\n\r\n"],
  ["chunks within another coding", "transfer-encoding: chunked, gzip\r\n", "0\r\n\r\n"],
  ["a coding that is nearly chunked", "transfer-encoding: xchunked\r\n", "0\r\n\r\n"],
  ["a chunk size that is none", "transfer-encoding: chunked\r\n", "zz\r\n{}\r\n0\r\n\r\n"],
  ["a chunk size that overflows", "transfer-encoding: chunked\r\n", `${"f".repeat(17)}\r\n{}`],
  ["a folded header", "x-a: b\r\n content-length: 2\r\n", ""],
  ["a space before the colon", "content-length : 2\r\n", "{}"],
  ["a bare CR in a value", "x-a: b\rcontent-length: 2\r\n", ""],
  ["a NUL in a value", "x-a: b\0c\r\ncontent-length: 2\r\n", "{}"],
  ["a header without a name", ": b\r\ncontent-length: 2\r\n", "{}"],
  ["a header without a colon", "x-a\r\ncontent-length: 2\r\n", "{}"],
].map(([name, headers, body]) => ({
  name: name!,
  bytes: request(POST, headers!, body),
  statuses: BAD,
}));

function path(name: string, target: string, statuses: readonly number[] = [404]): HostileCase {
  return { name, bytes: request(`GET ${target} HTTP/1.1`, ""), statuses };
}

export const PATHS: readonly HostileCase[] = [
  path("dot segments", "/v1/models/../../admin"),
  path("encoded dot segments", "/v1/models/%2e%2e/%2e%2e/admin"),
  path("half an escape", "/v1/models/%zz"),
  path("an encoded NUL", "/v1/models/m%00"),
  path("an encoded line end", "/v1/models/m%0d%0ax-a:%20b"),
  path("a backslash", "/v1\\models"),
  path("another host's address", "http://example.invalid/v1/models"),
  path("another server's credentials", "//example.invalid/v1/models"),
  path("a fragment", "/v1/models#x"),
  path("a matrix parameter", "/v1/models;x=1"),
  path("a tab", "/v1/models\t", [400, 404]),
  path("bytes that are no ASCII", "/v1/models/\xff\xfe", [400, 404]),
  {
    name: "CONNECT",
    bytes: request("CONNECT example.invalid:443 HTTP/1.1", ""),
    statuses: [0, 404],
  },
  { name: "TRACE", bytes: request("TRACE /v1/models HTTP/1.1", ""), statuses: [404] },
  { name: "a method of nobody", bytes: request("GRAB /v1/models HTTP/1.1", ""), statuses: BAD },
  {
    name: "an upgrade",
    bytes: request("GET /nowhere HTTP/1.1", "upgrade: h2c\r\n", "", "connection: upgrade\r\n\r\n"),
    statuses: [404],
  },
  { name: "no host", bytes: Buffer.from("GET /v1/models HTTP/1.1\r\n\r\n"), statuses: BAD },
  {
    name: "HTTP/2 unasked",
    bytes: Buffer.from("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"),
    statuses: BAD,
  },
  { name: "TLS", bytes: Buffer.from("16030100", "hex"), statuses: [...BAD, 0] },
  {
    name: "an expectation of nobody",
    bytes: request(POST, "expect: a miracle\r\ncontent-length: 2\r\n", "{}"),
    statuses: [417],
  },
];

const DEPTH = 100_000;
const nested = (open: string, close: string): string => open.repeat(DEPTH) + close.repeat(DEPTH);

export const BODIES: readonly HostileCase[] = [
  { name: "nothing", bytes: chat(""), statuses: [200], isForwarded: true },
  { name: "no JSON", bytes: chat("model=m"), statuses: BAD },
  { name: "a list", bytes: chat("[]"), statuses: BAD },
  { name: "half an object", bytes: chat('{"model":"m"'), statuses: BAD },
  { name: "an open string", bytes: chat('{"model":"m'), statuses: BAD },
  { name: "backslashes alone", bytes: chat(`{"${"\\".repeat(100_001)}`), statuses: BAD },
  { name: "two models", bytes: chat('{"model":"a","model":"b"}'), statuses: BAD },
  {
    name: "two models, one in disguise",
    bytes: chat('{"model":"a","\\u006dodel":"b"}'),
    statuses: BAD,
  },
  { name: "two streams", bytes: chat('{"stream":true,"stream":false}'), statuses: BAD },
  { name: "a model that is a list", bytes: chat('{"model":["m"]}'), statuses: BAD },
  { name: "a model of a kilobyte", bytes: chat(`{"model":"${"m".repeat(1_024)}"}`), statuses: BAD },
  {
    name: "a model of half a character",
    bytes: chat('{"model":"\\ud83d"}'),
    statuses: [200],
    isForwarded: true,
  },
  {
    name: "a key of a megabyte",
    bytes: chat(`{"${"k".repeat(2 ** 20)}":1}`),
    statuses: [200],
    isForwarded: true,
  },
  {
    name: "a thousand keys",
    bytes: chat(`{${Array.from({ length: 1_000 }, (_, at) => `"k${at}":1`).join(",")}}`),
    statuses: BAD,
  },
  {
    name: "a key that is a prototype",
    bytes: chat('{"__proto__":{"stream":true},"constructor":1}'),
    statuses: [200],
    isForwarded: true,
  },
  {
    name: "lists 100,000 deep",
    bytes: chat(`{"messages":${nested("[", "]")}}`),
    statuses: [200],
    isForwarded: true,
  },
  {
    name: "open lists 100,000 deep",
    bytes: chat(`{"messages":${"[".repeat(DEPTH)}`),
    statuses: BAD,
  },
  {
    name: "tools 100,000 deep",
    bytes: chat(`{"tools":${nested("[", "]")}}`),
    statuses: [200],
    isForwarded: true,
  },
  {
    name: "numbers beyond any",
    bytes: chat('{"max_tokens":1e999,"n":-1e999}'),
    statuses: [200],
    isForwarded: true,
  },
  {
    name: "bytes that are no UTF-8",
    bytes: chat(Buffer.from([0x7b, 0x22, 0xff, 0xfe, 0x22, 0x3a, 0x31, 0x7d])),
    statuses: [200],
    isForwarded: true,
  },
  { name: "a byte order mark", bytes: chat("\ufeff{}"), statuses: BAD },
  { name: "gzip", bytes: chat("\x1f\x8b\x08", "content-encoding: gzip\r\n"), statuses: [415] },
  {
    name: "a coding of nobody",
    bytes: chat("{}", "content-encoding: x, identity\r\n"),
    statuses: [415],
  },
  {
    name: "more than the limit",
    bytes: chat(`{"a":"${"x".repeat(2 * 2 ** 20)}"}`),
    statuses: [413],
  },
  {
    name: "a head that is too large",
    bytes: chat("{}", `x-a: ${"y".repeat(40_000)}\r\n`),
    statuses: [431],
  },
  {
    name: "a deadline of half a character",
    bytes: chat("{}", "x-manx-deadline-ms: \xff\r\n"),
    statuses: BAD,
  },
];
