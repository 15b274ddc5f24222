/**
 * The lines of an HTTP/1.1 head, or of the trailers behind a chunked body, up to the empty one: in whatever pieces they
 * come, they are handed out as whole lines.
 *
 * Invariant: what is held is the one line that is not whole yet; with what was handed out it is at most BLOCK_BYTES_MAX.
 */

/** Of one head: four times what Node's own servers and clients take. */
export const BLOCK_BYTES_MAX = 64 * 1024;

const LF = 10;
/** Most heads end within it. Where, a string tells in a tenth of the time that a Buffer takes. */
const GLANCE_BYTES = 1_024;

export class LineBlock {
  /** The lines that `read` has found, each with its end, byte by byte; with the empty one if it `isWhole`. */
  text = "";
  isWhole = false;
  /** More than BLOCK_BYTES_MAX. */
  isTooLong = false;
  /** The beginning of a line. */
  held: Buffer | undefined;
  #bytes = 0;

  begin(): void {
    this.text = "";
    this.isWhole = false;
    this.held = undefined;
    this.#bytes = 0;
  }

  /** @returns where in `chunk` the block ends; all of it if the block is not whole. */
  read(chunk: Buffer, from: number): number {
    const before = this.held?.length ?? 0;
    const data = this.held === undefined ? chunk : Buffer.concat([this.held, chunk.subarray(from)]);
    const start = this.held === undefined ? from : 0;
    const end = this.#lines(data, start);
    this.held = this.isWhole || end === data.length ? undefined : data.subarray(end);
    this.#bytes += this.text.length;
    this.isTooLong = this.#bytes + (this.held?.length ?? 0) > BLOCK_BYTES_MAX;
    return this.isWhole ? end - start + from - before : chunk.length;
  }

  /** @param start of a line. @returns the end of the last line that is whole and belongs to the block. */
  #lines(data: Buffer, start: number): number {
    const glance = data.toString("latin1", start, start + GLANCE_BYTES);
    const length = glance.startsWith("\r\n") ? 2 : glance.indexOf("\r\n\r\n") + 4;
    this.isWhole = length > 3 || length === 2;
    if (this.isWhole) {
      this.text = glance.slice(0, length);
      return start + length;
    }
    const at = data.indexOf("\r\n\r\n", start, "latin1");
    this.isWhole = at >= 0;
    const end = at >= 0 ? at + 4 : Math.max(start, data.lastIndexOf(LF) + 1);
    this.text = data.toString("latin1", start, end);
    return end;
  }
}
