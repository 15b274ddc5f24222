/**
 * Our parser against undici's, which is llhttp: what llhttp refuses is never accepted here, and what both accept is read
 * alike. The other way round we are stricter, in the ways that docs/decisions/2026-11-30-own-http1-client.md lists.
 */
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { undiciVerdict, type Verdict } from "../../../test/support/undici-verdict.ts";
import { H1Parser } from "./h1-parser.ts";

interface OwnVerdict extends Verdict {
  readonly isWhole: boolean;
  readonly wrong: string | undefined;
}

function ownVerdict(pieces: readonly Buffer[]): OwnVerdict {
  const verdict = { status: 0, rawHeaders: [] as string[], isWhole: false };
  const parts: Buffer[] = [];
  const parser = new H1Parser({
    onHead: (status, rawHeaders) => Object.assign(verdict, { status, rawHeaders }),
    onBytes: (chunk) => parts.push(chunk),
    onEnd: () => {
      verdict.isWhole = true;
    },
  });
  parser.begin();
  let wrong: string | undefined;
  for (const piece of pieces) {
    if (wrong === undefined && !verdict.isWhole) wrong = parser.feed(piece);
  }
  if (wrong === undefined && !verdict.isWhole) parser.finish();
  return { ...verdict, wrong, body: Buffer.concat(parts).toString("latin1") };
}

/** llhttp leaves white space behind a value. */
function trimmed(rawHeaders: readonly string[]): string[] {
  return rawHeaders.map((part) => part.replace(/^[\t ]+|[\t ]+$/g, ""));
}

/**
 * A 304 may say how long the body would be that it leaves out (RFC 9110, 8.6). llhttp knows; undici itself, which counts the
 * bytes once more, takes it for cut.
 */
function isBeyondUndici({ status, rawHeaders }: Verdict): boolean {
  const isBodiless = status === 204 || status === 304;
  return isBodiless && rawHeaders.some((part) => /^content-length$/i.test(part));
}

async function compare(text: string, cuts: readonly number[]) {
  const bytes = Buffer.from(text, "latin1");
  const places = [0, ...cuts.map((at) => at % (bytes.length + 1)).sort((a, b) => a - b)];
  const pieces = places.map((from, i) => bytes.subarray(from, places[i + 1]));
  const own = ownVerdict(pieces.filter(({ length }) => length > 0));
  const reference = await undiciVerdict(bytes);
  if (!own.isWhole || isBeyondUndici(own)) return { own, reference };
  expect(reference, JSON.stringify(text)).toBeDefined();
  expect([own.status, own.rawHeaders, own.body], JSON.stringify(text)).toEqual([
    reference!.status,
    trimmed(reference!.rawHeaders),
    reference!.body,
  ]);
  return { own, reference };
}

const token = fc.stringMatching(/^[!#$%&'*+\-.^_`|~0-9A-Za-z]{1,8}$/);
const value = fc.stringMatching(/^(?:[\x21-\x7e\x80-\xff][\t\x20-\x7e\x80-\xff]{0,12})?$/);
const header = fc.tuple(token, fc.constantFrom("", " ", "\t "), value, fc.constantFrom("", " "));
const framings = [
  "content-length: 5",
  "Content-Length:5 ",
  "transfer-encoding: chunked",
  "Transfer-Encoding: CHUNKED",
  "connection: close",
  "connection: keep-alive",
  "keep-alive: timeout=5",
];
/** llhttp takes `chunked` twice for once. */
function hasOneCoding(fields: readonly string[]): boolean {
  return fields.filter((field) => /^transfer/i.test(field)).length < 2;
}
const body = fc.constantFrom(
  "hello",
  "5\r\nhello\r\n0\r\n\r\n",
  '1\r\nh\r\n004;a=b\r\nello\r\n0;q="x\\"y"\r\nt: 1\r\n\r\n',
  "",
);
const response = fc
  .tuple(
    fc.constantFrom(
      "HTTP/1.1 200 OK",
      "HTTP/1.0 200 OK",
      "HTTP/1.1 204 X",
      "HTTP/1.1 529 a b",
      "HTTP/1.1 304",
    ),
    fc.array(header, { maxLength: 3 }),
    fc.subarray(framings, { maxLength: 3 }).filter(hasOneCoding),
    body,
    fc.constantFrom("", "HTTP/1.1 103 Hints\r\nlink: </a>\r\n\r\n"),
  )
  .map(([line, headers, framing, content, before]) => {
    const fields = headers.map(([name, space, of, after]) => `${name}:${space}${of}${after}`);
    return `${before}${[line, ...fields, ...framing].join("\r\n")}\r\n\r\n${content}`;
  });

/** What llhttp takes and we do not, of what the mutations here come upon. */
const STRICTER = new Set([
  "an unknown transfer coding",
  "more than one Transfer-Encoding",
  "no status line of HTTP/1.1",
  "a malformed chunk extension",
]);
const RUNS = 500;

const ODD_BYTES = [
  "\r",
  "\n",
  "\r\n",
  " ",
  "\t",
  ":",
  ";",
  "=",
  '"',
  ",",
  "\0",
  "\x7f",
  "\x80",
  "0",
  "1",
  "f",
  "+",
  "-",
  "\\",
];
const anyByte = fc.nat(255).map((code) => String.fromCharCode(code));
const mutation = fc.record({
  at: fc.nat(),
  removed: fc.nat(3),
  added: fc.oneof(fc.constantFrom(...ODD_BYTES, ""), anyByte),
});

function mutate(
  text: string,
  { at, removed, added }: { at: number; removed: number; added: string },
) {
  const from = at % (text.length + 1);
  return text.slice(0, from) + added + text.slice(from + removed);
}

describe("H1Parser against llhttp", () => {
  it("reads what is well-formed alike", async () => {
    const cuts = fc.array(fc.nat(500), { maxLength: 4 });
    const property = fc.asyncProperty(response, cuts, async (text, at) => {
      const { own, reference } = await compare(text, at);
      if (reference !== undefined) expect([text, own.wrong]).toEqual([text, undefined]);
    });
    await fc.assert(property, { numRuns: RUNS });
  });

  it("accepts nothing that llhttp refuses, of what is malformed in one place or two", async () => {
    const mutations = fc.array(mutation, { minLength: 1, maxLength: 2 });
    const cuts = fc.array(fc.nat(500), { maxLength: 4 });
    const property = fc.asyncProperty(response, mutations, cuts, async (text, changes, at) => {
      const { own, reference } = await compare(changes.reduce(mutate, text), at);
      if (reference === undefined || own.isWhole) return;
      expect(STRICTER, JSON.stringify(text)).toContain(own.wrong);
    });
    await fc.assert(property, { numRuns: RUNS });
  });
});
