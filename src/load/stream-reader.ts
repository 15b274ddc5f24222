/** A streamed answer, decoded as it comes. */
import type { LoadApi } from "./request-body.ts";
import { DiscardReader } from "./response-reader.ts";

export interface StreamStart {
  readonly intendedUs: number;
  readonly sentUs: number;
  readonly headersUs: number;
}

export class StreamReader extends DiscardReader {
  constructor(_format: LoadApi["format"], _start: StreamStart) {
    super("malformed");
  }
}
