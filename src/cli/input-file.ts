/** A whole file or standard input as text, unpacked if it is gzip, up to a bound. */
import { createReadStream } from "node:fs";
import { gunzipSync } from "node:zlib";
import { ManxError } from "../core/index.ts";

/**
 * @param path `-` is standard input.
 * @throws MANX_FILE_UNREADABLE if it cannot be read, is a damaged gzip, or has more than `bytesMax`, unpacked.
 */
export async function readInput(path: string, bytesMax: number): Promise<string> {
  const source = path === "-" ? process.stdin : createReadStream(path);
  const pieces: Buffer[] = [];
  let bytes = 0;
  try {
    for await (const piece of source as AsyncIterable<Buffer>) {
      bytes += piece.length;
      if (bytes > bytesMax) break;
      pieces.push(piece);
    }
  } catch (thrown) {
    const cause = thrown as NodeJS.ErrnoException;
    throw new ManxError("MANX_FILE_UNREADABLE", {
      where: path,
      got: cause.code ?? cause.message,
      cause,
    });
  }
  if (bytes > bytesMax) {
    throw new ManxError("MANX_FILE_UNREADABLE", {
      what: "a file is longer than this command reads",
      where: path,
      expected: `at most ${bytesMax} bytes`,
    });
  }
  return unpacked(Buffer.concat(pieces), path, bytesMax).toString("utf8");
}

function unpacked(bytes: Buffer, path: string, bytesMax: number): Buffer {
  if (bytes[0] !== 0x1f || bytes[1] !== 0x8b) return bytes;
  try {
    return gunzipSync(bytes, { maxOutputLength: bytesMax });
  } catch (thrown) {
    const cause = thrown as NodeJS.ErrnoException;
    throw new ManxError("MANX_FILE_UNREADABLE", {
      what: "a gzip file is cut off, damaged, or longer than this command reads",
      where: path,
      expected: `at most ${bytesMax} bytes unpacked`,
      got: cause.code ?? cause.message,
      cause,
    });
  }
}
