/** A whole file as text, up to a bound. */
import { open } from "node:fs/promises";
import { type ErrorParts, ManxError } from "../core/index.ts";

/** @throws MANX_FILE_UNREADABLE if it cannot be read, is longer than `bytesMax`, or is not UTF-8. */
export async function readTextFile(path: string, bytesMax: number): Promise<string> {
  const unreadable = (parts: ErrorParts): ManxError =>
    new ManxError("MANX_FILE_UNREADABLE", { where: path, ...parts });
  let bytes: Buffer;
  try {
    bytes = await readBytes(path, bytesMax + 1);
  } catch (thrown) {
    const cause = thrown as NodeJS.ErrnoException;
    throw unreadable({ got: cause.code ?? cause.message, cause });
  }
  if (bytes.length > bytesMax) {
    throw unreadable({ expected: `at most ${bytesMax} bytes`, got: "more" });
  }
  try {
    return new TextDecoder("utf-8", { fatal: true }).decode(bytes);
  } catch (cause) {
    throw unreadable({ expected: "UTF-8", got: "other bytes", cause });
  }
}

/** Piece by piece, since the size that a file claims may not be true (a pipe, /proc, one that is being written). */
async function readBytes(path: string, most: number): Promise<Buffer> {
  const file = await open(path, "r");
  try {
    const pieces: Buffer[] = [];
    for (let left = most; left > 0; ) {
      const piece = Buffer.alloc(Math.min(left, 64 * 1024));
      const { bytesRead } = await file.read(piece, 0, piece.length, null);
      if (bytesRead === 0) break;
      pieces.push(piece.subarray(0, bytesRead));
      left -= bytesRead;
    }
    return Buffer.concat(pieces);
  } finally {
    await file.close();
  }
}
