import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { BLOCK_BYTES_MAX } from "./h1-line-block.ts";
import { H1Parser } from "./h1-parser.ts";

interface Reading {
  heads: [status: number, rawHeaders: string[]][];
  body: string;
  ends: number;
  wrong: string | undefined;
  keepsAlive: boolean;
}

/** @param end of the connection, behind the bytes. */
function read(pieces: readonly (string | Buffer)[], end = false): Reading {
  const heads: [number, string[]][] = [];
  const parts: Buffer[] = [];
  let ends = 0;
  const parser = new H1Parser({
    onHead: (status, rawHeaders) => heads.push([status, rawHeaders]),
    onBytes: (chunk) => {
      expect(chunk.length).toBeGreaterThan(0);
      parts.push(chunk);
    },
    onEnd: () => {
      ends += 1;
    },
  });
  parser.begin();
  let wrong: string | undefined;
  for (const piece of pieces) {
    if (ends > 0) break;
    wrong = parser.feed(Buffer.from(piece as string, "latin1"));
    if (wrong !== undefined) break;
  }
  if (end && wrong === undefined && ends === 0) parser.finish();
  const body = Buffer.concat(parts).toString("latin1");
  return { heads, body, ends, wrong, keepsAlive: parser.keepsAlive };
}

function anyBytes(lengthMax: number) {
  const bytes = fc.uint8Array({ minLength: 1, maxLength: lengthMax });
  return bytes.map((some) => Buffer.from(some).toString("latin1"));
}

const OK = "HTTP/1.1 200 OK\r\n";
const SIZED = `${OK}content-type: text/plain\r\nContent-Length: 5\r\n\r\nhello`;
const CHUNKED = `${OK}Transfer-Encoding: chunked\r\n\r\n`;

const VALID: Record<string, { bytes: string; body: string; keeps: boolean; byFin?: true }> = {
  "a length": { bytes: SIZED, body: "hello", keeps: true },
  "no reason": { bytes: "HTTP/1.1 200\r\ncontent-length: 0\r\n\r\n", body: "", keeps: true },
  "an empty reason": { bytes: "HTTP/1.1 200 \r\ncontent-length: 0\r\n\r\n", body: "", keeps: true },
  chunks: {
    bytes: `${CHUNKED}5\r\nhello\r\n00A;x=1;y="a;\\"b";z\r\n, \r\n world\r\n0\r\n\r\n`,
    body: "hello, \r\n world",
    keeps: true,
  },
  trailers: {
    bytes: `${CHUNKED}1\r\n!\r\n0\r\nx-checksum: 1\r\nx-b:\r\n\r\n`,
    body: "!",
    keeps: true,
  },
  "no chunk with data": { bytes: `${CHUNKED}0\r\n\r\n`, body: "", keeps: true },
  "no body by status": {
    bytes: "HTTP/1.1 204 No Content\r\ncontent-length: 7\r\n\r\n",
    body: "",
    keeps: true,
  },
  "not modified": {
    bytes: "HTTP/1.1 304 Not Modified\r\ntransfer-encoding: chunked\r\n\r\n",
    body: "",
    keeps: true,
  },
  "heads before the final one": {
    bytes: `HTTP/1.1 103 Early Hints\r\nlink: </a>\r\n\r\nHTTP/1.1 100 Continue\r\n\r\n${SIZED}`,
    body: "hello",
    keeps: true,
  },
  "all until the end": {
    bytes: `${OK}a: b\r\n\r\nall \r\n\r\nof it`,
    body: "all \r\n\r\nof it",
    keeps: false,
    byFin: true,
  },
  "no header at all": { bytes: `${OK}\r\nx`, body: "x", keeps: false, byFin: true },
  close: {
    bytes: `${OK}connection: x-a , Close\r\ncontent-length: 1\r\n\r\n1`,
    body: "1",
    keeps: false,
  },
  "close in a line of its own": {
    bytes: `${OK}connection: keep-alive\r\nconnection: close\r\ncontent-length: 1\r\n\r\n1`,
    body: "1",
    keeps: false,
  },
  "HTTP/1.0": { bytes: "HTTP/1.0 200 OK\r\ncontent-length: 1\r\n\r\n1", body: "1", keeps: false },
  "HTTP/1.0 kept": {
    bytes: "HTTP/1.0 200 OK\r\nConnection: Keep-Alive\r\ncontent-length: 1\r\n\r\n1",
    body: "1",
    keeps: true,
  },
  "HTTP/1.0 in chunks": {
    bytes:
      "HTTP/1.0 200 OK\r\nconnection: keep-alive\r\ntransfer-encoding: chunked\r\n\r\n1\r\n1\r\n0\r\n\r\n",
    body: "1",
    keeps: false,
  },
};

/** [name, status line and headers, what is wrong]. */
const BAD_HEADS: [string, string, RegExp][] = [
  ["another protocol", "SSH-2.0-OpenSSH\r\n", /status line/],
  ["HTTP/2", "HTTP/2.0 200 OK\r\n", /status line/],
  ["a status of two digits", "HTTP/1.1 20 OK\r\n", /status line/],
  ["a status of four digits", "HTTP/1.1 2000 OK\r\n", /status line/],
  ["a status below 100", "HTTP/1.1 099 OK\r\n", /status line/],
  ["a line before the status", `\r\n${OK}`, /status line/],
  ["a NUL in the reason", "HTTP/1.1 200 O\0K\r\n", /status line/],
  ["bare line ends", "HTTP/1.1 200 OK\ncontent-length: 0\n\n", /status line/],
  ["a bare line end among others", `${OK}a: b\nc: d\r\n`, /header/],
  ["a bare CR in a value", `${OK}a: b\rc: d\r\n`, /header/],
  ["a NUL in a value", `${OK}a: b\0c\r\n`, /header/],
  ["a DEL in a value", `${OK}a: b\x7fc\r\n`, /header/],
  ["a folded value", `${OK}a: b\r\n c\r\n`, /header/],
  ["a folded first line", `${OK} a: b\r\n`, /header/],
  ["a space before the colon", `${OK}content-length : 0\r\n`, /header/],
  ["a name that is none", `${OK}a(b: c\r\n`, /header/],
  ["a name beyond ASCII", `${OK}\xe4: c\r\n`, /header/],
  ["an empty name", `${OK}: c\r\n`, /header/],
  ["a line without a colon", `${OK}content-length\r\n`, /header/],
  ["two lengths", `${OK}content-length: 1\r\ncontent-length: 2\r\n`, /more than one/],
  ["two equal lengths", `${OK}content-length: 1\r\nContent-length: 1\r\n`, /more than one/],
  ["a list of lengths", `${OK}content-length: 1, 1\r\n`, /no number/],
  ["a signed length", `${OK}content-length: +1\r\n`, /no number/],
  ["a length in hexadecimal", `${OK}content-length: 0x1\r\n`, /no number/],
  ["an empty length", `${OK}content-length: \r\n`, /no number/],
  ["a length beyond counting", `${OK}content-length: 9007199254740992\r\n`, /no number/],
  ["length and chunks", `${OK}content-length: 1\r\ntransfer-encoding: chunked\r\n`, /both/],
  ["another coding", `${OK}transfer-encoding: gzip, chunked\r\n`, /coding/],
  ["nearly chunked", `${OK}transfer-encoding: xchunked\r\n`, /coding/],
  ["an empty coding", `${OK}transfer-encoding:\r\n`, /coding/],
  [
    "chunks twice",
    `${OK}transfer-encoding: chunked\r\ntransfer-encoding: chunked\r\n`,
    /more than/,
  ],
  ["another protocol from here", "HTTP/1.1 101 Switching\r\nupgrade: x\r\n", /protocol/],
  ["an interim head that is bad", `HTTP/1.1 103 Hints\r\na b\r\n\r\n${OK}`, /header/],
  ["more than is held", `${OK}a: ${"b".repeat(BLOCK_BYTES_MAX)}\r\n`, /measure/],
  ["more lines than are held", OK + "a: b\r\n".repeat(BLOCK_BYTES_MAX / 6), /measure/],
];

const BAD_CHUNKS: [string, string, RegExp][] = [
  ["no size", "\r\n", /no chunk size/],
  ["no digit", "g\r\n", /no chunk size/],
  ["a sign", "+1\r\n", /no chunk size/],
  ["a prefix", "0x1\r\n", /no chunk size/],
  ["a space before", " 1\r\n", /no chunk size/],
  ["a space behind", "1 \r\n", /no chunk size/],
  ["more than there can be", "20000000000000\r\n", /measure/],
  ["zeros without end", `${"0".repeat(17)}\r\n`, /measure/],
  ["a bare line end", "1\nx\n", /no chunk size/],
  ["a bare CR", "1\rx\r\n", /without an end/],
  ["more than it said", "1\r\nab\r\n", /longer/],
  ["a bare LF behind the data", "1\r\na\n", /longer/],
  ["a bare CR behind the data", "1\r\na\r0\r\n", /without an end/],
  ["an extension that is none", "1;\r\na\r\n", /extension/],
  ["an extension with an end in it", '1;a="\n"\r\na\r\n', /extension/],
  ["an extension with white space", "1; a=b\r\na\r\n", /extension/],
  ["an extension without end", `1;${"a".repeat(1_025)}`, /measure/],
  ["a trailer that is none", "0\r\na b\r\n\r\n", /trailer/],
  ["a folded trailer", "0\r\na: b\r\n c\r\n\r\n", /trailer/],
  ["trailers without end", `0\r\n${"a: b\r\n".repeat(BLOCK_BYTES_MAX / 6 + 1)}`, /measure/],
];

describe("H1Parser", () => {
  it.each(Object.entries(VALID))("reads %s, whole or cut at any byte", (_name, valid) => {
    const { bytes, body, keeps, byFin = false } = valid;
    const whole = read([bytes], byFin);
    expect(whole).toMatchObject({ body, ends: 1, wrong: undefined, keepsAlive: keeps });
    expect(whole.heads).toHaveLength(1);
    for (let at = 1; at < bytes.length; at += 1) {
      expect(read([bytes.slice(0, at), bytes.slice(at)], byFin)).toEqual(whole);
    }
    expect(read([...bytes], byFin)).toEqual(whole);
    if (!byFin) expect(read([bytes.slice(0, -1)], true).ends).toBe(0);
  });

  it.each(BAD_HEADS)("refuses %s, whole or byte by byte", (_name, head, wrong) => {
    expect(read([`${head}\r\n`]).wrong).toMatch(wrong);
    const byByte = read([...head.slice(0, 1_000), head.slice(1_000), "\r\n"]);
    expect(byByte.wrong).toBeDefined();
    expect([byByte.heads, byByte.ends]).toEqual([[], 0]);
  });

  it.each(BAD_CHUNKS)("refuses chunks with %s, whole or byte by byte", (_name, chunks, wrong) => {
    expect(read([CHUNKED + chunks]).wrong).toMatch(wrong);
    expect(read([CHUNKED, ...chunks.slice(0, 2_000), chunks.slice(2_000)]).wrong).toMatch(wrong);
  });

  it("hands headers on as they came, byte by byte, without the space around a value", () => {
    const head = `${OK}X-a:\t b\xe9 \t c \r\nx-A:\r\nSet-Cookie: a=1\r\nset-cookie: b:2\r\n\r\n`;
    const wanted = ["X-a", "b\xe9 \t c", "x-A", "", "Set-Cookie", "a=1", "set-cookie", "b:2"];
    expect(read([head]).heads).toEqual([[200, wanted]]);
  });

  it("says at the first byte that it is no HTTP, since its speaker may wait for our next word", () => {
    expect(read(["220 mail.example"]).wrong).toBe("no HTTP/1.1");
    expect(read(["HTTP/1.", "x"]).wrong).toBeUndefined();
    expect(read(["HTTP/2"]).wrong).toBe("no HTTP/1.1");
  });

  it("does not go on with a connection on which more came than the response", () => {
    for (const bytes of [SIZED, `${CHUNKED}0\r\n\r\n`, "HTTP/1.1 204 None\r\n\r\n"]) {
      const reading = read([`${bytes}H`]);
      expect([reading.ends, reading.wrong, reading.keepsAlive]).toEqual([1, undefined, false]);
    }
  });

  it("hands out pieces of the read itself, and copies nothing", () => {
    const bytes = Buffer.from(`${CHUNKED}3\r\nabc\r\n2\r\nde\r\n0\r\n\r\n`);
    const seen: Buffer[] = [];
    const parser = new H1Parser({
      onHead: () => undefined,
      onBytes: (chunk) => seen.push(chunk),
      onEnd: () => undefined,
    });
    parser.begin();
    parser.feed(bytes);
    expect(seen.map(String)).toEqual(["abc", "de"]);
    for (const { buffer } of seen) expect(buffer).toBe(bytes.buffer);
  });

  it("takes the next response within the end of the one before", () => {
    const bodies: string[] = [];
    let again = true;
    const parser = new H1Parser({
      onHead: () => undefined,
      onBytes: (chunk) => bodies.push(String(chunk)),
      onEnd: () => {
        if (again) parser.begin();
        again = false;
      },
    });
    parser.begin();
    expect(parser.feed(Buffer.from(SIZED))).toBeUndefined();
    expect(parser.feed(Buffer.from(SIZED))).toBeUndefined();
    expect(bodies).toEqual(["hello", "hello"]);
    expect(parser.feed(Buffer.from("H"))).toMatch(/nobody asked/);
  });

  it("reads any response alike, however it is cut", () => {
    const token = fc.stringMatching(/^[!#$%&'*+\-.^_`|~0-9A-Za-z]{1,12}$/);
    const value = fc.stringMatching(
      /^[\x21-\x7e\x80-\xff][\t\x20-\x7e\x80-\xff]{0,20}[\x21-\x7e]$/,
    );
    const fields = fc.array(
      fc.tuple(
        token.map((name) => `x-${name}`),
        value,
      ),
      { maxLength: 6 },
    );
    const pieces = fc.array(anyBytes(40), { maxLength: 5 });
    const cuts = fc.array(fc.nat(400), { maxLength: 12 });
    const property = fc.property(
      fields,
      pieces,
      fc.boolean(),
      cuts,
      (headers, data, inChunks, at) => {
        const body = data.join("");
        const lines = headers.map(([name, of]) => `${name}: ${of}\r\n`).join("");
        const framed = inChunks
          ? `transfer-encoding: chunked\r\n\r\n${data.map((one) => `${one.length.toString(16)}\r\n${one}\r\n`).join("")}0\r\n\r\n`
          : `content-length: ${body.length}\r\n\r\n${body}`;
        const bytes = `${OK}${lines}${framed}`;
        const places = [
          0,
          ...at.map((one) => one % bytes.length).sort((a, b) => a - b),
          bytes.length,
        ];
        const parts = places.slice(1).map((to, i) => bytes.slice(places[i]!, to));
        const reading = read(parts.filter((part) => part !== ""));
        expect(reading).toMatchObject({ body, ends: 1, wrong: undefined, keepsAlive: true });
        expect(reading.heads[0]![1].slice(0, headers.length * 2)).toEqual(headers.flat());
      },
    );
    fc.assert(property, { numRuns: 300 });
  });
});
