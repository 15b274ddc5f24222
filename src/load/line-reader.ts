/**
 * Lines of a file or of standard input, unpacked if they are gzip (told by its first two bytes, not by the name), read
 * in pieces: memory holds one piece and one line, whatever the size of the file.
 */
import { createReadStream } from "node:fs";
import { pipeline, Readable } from "node:stream";
import { createGunzip } from "node:zlib";
import { ManxError } from "../core/index.ts";

export interface Line {
  /** From 1. */
  readonly row: number;
  /** Without its end; null if it is longer than `LINE_CHARS_MAX` and was dropped. */
  readonly text: string | null;
}

/** A Mooncake row of a million tokens has some 20 kB. */
const LINE_CHARS_MAX = 4 * 1024 * 1024;

/**
 * @param path of a file, or `-` for standard input.
 * @throws MANX_FILE_UNREADABLE if it cannot be opened or read to its end, and if a gzip is cut off or damaged.
 */
export async function* readLines(path: string): AsyncGenerator<Line> {
  const source = path === "-" ? process.stdin : createReadStream(path);
  try {
    yield* splitLines(unpack(source));
  } catch (thrown) {
    throw unreadable(path, thrown);
  } finally {
    if (path !== "-") source.destroy();
  }
}

async function* unpack(source: Readable): AsyncGenerator<Buffer> {
  const pieces = source[Symbol.asyncIterator]() as AsyncIterator<Buffer>;
  let head: Buffer = Buffer.alloc(0);
  while (head.length < 2) {
    const next = await pieces.next();
    if (next.done === true) break;
    head = Buffer.concat([head, next.value]);
  }
  const whole = chain(head, pieces);
  if (!(head[0] === 0x1f && head[1] === 0x8b)) {
    yield* whole;
    return;
  }
  const gunzip = createGunzip();
  // The callback is needed for pipeline to pass errors on to `gunzip`, from where the loop below throws them.
  pipeline(Readable.from(whole), gunzip, () => undefined);
  for await (const piece of gunzip) yield piece as Buffer;
}

async function* chain(head: Buffer, rest: AsyncIterator<Buffer>): AsyncGenerator<Buffer> {
  if (head.length > 0) yield head;
  for (let next = await rest.next(); next.done !== true; next = await rest.next()) {
    yield next.value;
  }
}

async function* splitLines(pieces: AsyncIterable<Buffer>): AsyncGenerator<Line> {
  // Strips a byte-order mark, and keeps a character that two pieces share.
  const decoder = new TextDecoder("utf-8");
  let row = 0;
  let rest = "";
  let tooLong = false;
  for await (const piece of pieces) {
    const parts = (rest + decoder.decode(piece, { stream: true })).split("\n");
    rest = parts.pop()!;
    for (const part of parts) {
      row += 1;
      yield toLine(row, part, tooLong);
      tooLong = false;
    }
    if (rest.length > LINE_CHARS_MAX) {
      tooLong = true;
      rest = "";
    }
  }
  rest += decoder.decode();
  if (rest !== "" || tooLong) yield toLine(row + 1, rest, tooLong);
}

function toLine(row: number, text: string, tooLong: boolean): Line {
  if (tooLong || text.length > LINE_CHARS_MAX) return { row, text: null };
  return { row, text: text.endsWith("\r") ? text.slice(0, -1) : text };
}

function unreadable(path: string, thrown: unknown): ManxError {
  const cause = thrown as NodeJS.ErrnoException;
  const damaged = cause.code?.startsWith("Z_") === true;
  return new ManxError("MANX_FILE_UNREADABLE", {
    ...(damaged && { what: "a gzip file is cut off or damaged" }),
    where: path,
    got: cause.message ?? String(thrown),
    ...(damaged && { hint: "fetch it again, and compare its size with the source's" }),
    cause,
  });
}
