/**
 * Records of requests from files: JSON Lines read line by line, so that a gigabyte takes no more memory than its longest
 * line, or one JSON document (a HAR file, a list, a body written over many lines), which is read whole up to a bound. Plain or
 * gzipped. What cannot be read is handed on with its line, and the rest goes on.
 */
import { createReadStream, statSync } from "node:fs";
import { pipeline, Readable } from "node:stream";
import { createGunzip } from "node:zlib";
import { ManxError } from "../core/index.ts";
import type { RecordSource } from "../runtime/index.ts";

export interface PromptRecord {
  readonly source: RecordSource;
  /** Of what was read, 0 to 1; NaN where the size is not known. */
  readonly share: number;
  readonly value: unknown;
}

export interface BadRecord {
  readonly line: number;
  readonly reason: string;
}

export interface RecordLimits {
  readonly lineBytesMax: number;
  readonly documentBytesMax: number;
}

export const RECORD_LIMITS: RecordLimits = {
  lineBytesMax: 64 * 1024 * 1024,
  documentBytesMax: 256 * 1024 * 1024,
};

const NEWLINE = 0x0a;
const NO_JSON = "no JSON";

/** @throws MANX_FILE_UNREADABLE */
export async function* promptRecords(
  path: string,
  limits: RecordLimits = RECORD_LIMITS,
): AsyncGenerator<PromptRecord | BadRecord> {
  const file = path === "-" ? "standard input" : path;
  try {
    yield* records(path, file, limits);
  } catch (thrown) {
    const cause = thrown as NodeJS.ErrnoException;
    if (cause.code?.startsWith("MANX_") === true) throw thrown;
    throw new ManxError("MANX_FILE_UNREADABLE", {
      ...(cause.code?.startsWith("Z_") === true && { what: "a gzip file is cut off or damaged" }),
      where: path,
      got: cause.code ?? cause.message,
      cause,
    });
  }
}

async function* records(
  path: string,
  file: string,
  limits: RecordLimits,
): AsyncGenerator<PromptRecord | BadRecord> {
  const size = path === "-" ? Number.NaN : statSync(path).size;
  const input = path === "-" ? process.stdin : createReadStream(path);
  const counted = { bytes: 0 };
  let isFirst = true;
  /** A first line that may open a document, and blank lines behind it. */
  let held: TextLine[] = [];
  const lines = linesOf(unpacked(input, counted), limits.lineBytesMax);
  for await (const one of lines) {
    const { line, text, problem } = one;
    const isBlank = problem === null && text.trim() === "";
    if (held.length > 0 && !isBlank) {
      if (!isNextRecord(held[0]!, one)) {
        yield* wholeDocument(file, [...held, one], lines, limits);
        return;
      }
      yield { line: held[0]!.line, reason: NO_JSON };
      held = [];
    }
    if (held.length > 0) held.push(one);
    if (isBlank) continue;
    const value = problem === null ? parsed(text) : undefined;
    if (isFirst && value === undefined && problem === null && isOpening(text)) held = [one];
    else if (value === undefined) yield { line, reason: problem ?? NO_JSON };
    else yield { source: { file, line, json: text }, share: counted.bytes / size, value };
    isFirst = false;
  }
  if (held.length > 0) yield { line: held[0]!.line, reason: NO_JSON };
}

/** An object does not open an object: two lines, of which the first is broken. */
function isNextRecord(first: TextLine, next: TextLine): boolean {
  return first.text.trimStart().startsWith("{") && next.text.trimStart().startsWith("{");
}

/** The first line of a document that goes on: a bracket is open at its end. */
function isOpening(text: string): boolean {
  const bare = text.trim();
  return /^[[{]/.test(bare) && !(bare.length > 1 && /[}\]]$/.test(bare));
}

async function* wholeDocument(
  file: string,
  begun: readonly TextLine[],
  rest: AsyncGenerator<TextLine>,
  { documentBytesMax }: RecordLimits,
): AsyncGenerator<PromptRecord | BadRecord> {
  const all = [...begun];
  let chars = all.reduce((sum, { text }) => sum + text.length + 1, 0);
  for await (const next of rest) {
    all.push(next);
    chars += next.text.length + 1;
    if (chars <= documentBytesMax) continue;
    throw new ManxError("MANX_FILE_UNREADABLE", {
      what: "a JSON document is longer than this command reads whole",
      where: file,
      expected: `at most ${documentBytesMax} bytes, or JSON Lines of any length`,
    });
  }
  const json = all.map(({ text }) => text).join("\n");
  const value = all.every(({ problem }) => problem === null) ? parsed(json) : undefined;
  if (value !== undefined) {
    yield { source: { file, line: all[0]!.line, json }, share: 1, value };
    return;
  }
  // Lines after all, of which the first was broken.
  for (const { line, text, problem } of all) {
    if (problem === null && text.trim() === "") continue;
    const one = problem === null ? parsed(text) : undefined;
    if (one === undefined) yield { line, reason: problem ?? NO_JSON };
    else yield { source: { file, line, json: text }, share: 1, value: one };
  }
}

interface TextLine {
  readonly line: number;
  readonly text: string;
  readonly problem: string | null;
}

async function* linesOf(pieces: AsyncIterable<Buffer>, bytesMax: number): AsyncGenerator<TextLine> {
  let line = 0;
  let held: Buffer[] = [];
  let bytes = 0;
  let isTooLong = false;
  const take = (): TextLine => {
    line += 1;
    const made = isTooLong
      ? { line, text: "", problem: `longer than ${bytesMax} bytes` }
      : decoded(line, held.length === 1 ? held[0]! : Buffer.concat(held));
    held = [];
    bytes = 0;
    isTooLong = false;
    return made;
  };
  const hold = (piece: Buffer): void => {
    bytes += piece.length;
    isTooLong ||= bytes > bytesMax;
    if (isTooLong) held = [];
    else if (piece.length > 0) held.push(piece);
  };
  for await (const piece of pieces) {
    let from = 0;
    for (let end = piece.indexOf(NEWLINE); end >= 0; end = piece.indexOf(NEWLINE, from)) {
      hold(piece.subarray(from, end));
      yield take();
      from = end + 1;
    }
    hold(piece.subarray(from));
  }
  if (bytes > 0) yield take();
}

const STRICT = new TextDecoder("utf-8", { fatal: true });

function decoded(line: number, bytes: Buffer): TextLine {
  try {
    return { line, text: STRICT.decode(bytes), problem: null };
  } catch {
    return { line, text: "", problem: "no valid UTF-8" };
  }
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text) as unknown;
  } catch {
    return undefined;
  }
}

async function* unpacked(input: Readable, counted: { bytes: number }): AsyncGenerator<Buffer> {
  const pieces = counting(input, counted);
  const first = await pieces.next();
  if (first.done === true) return;
  const whole = following(first.value, pieces);
  if (!(first.value[0] === 0x1f && first.value[1] === 0x8b)) {
    yield* whole;
    return;
  }
  const gunzip = createGunzip();
  // The callback is needed for pipeline to pass errors on to `gunzip`, from where the loop below throws them.
  pipeline(Readable.from(whole), gunzip, () => undefined);
  for await (const piece of gunzip) yield piece as Buffer;
}

async function* counting(input: Readable, counted: { bytes: number }): AsyncGenerator<Buffer> {
  for await (const piece of input as AsyncIterable<Buffer>) {
    counted.bytes += piece.length;
    yield piece;
  }
}

async function* following(first: Buffer, rest: AsyncGenerator<Buffer>): AsyncGenerator<Buffer> {
  yield first;
  yield* rest;
}
