/** Units, errors, asserts, heap, queue, names: what every other folder may use. */
export { assert } from "./assert.ts";
export { CREDENTIAL_HEADERS } from "./credential-headers.ts";
export { type ErrorDialect, errorBody } from "./error-body.ts";
export { ERROR_TABLE, type ErrorCode, type ErrorKind } from "./error-table.ts";
export { EventHeap, type HeapEntry } from "./event-heap.ts";
export { Fifo } from "./fifo.ts";
export { IdMap } from "./id-map.ts";
export { type ErrorParts, isManxError, ManxError, renderError, toManxError } from "./manx-error.ts";
export { lookUp, nearestName } from "./names.ts";
export {
  durationText,
  formatUs,
  parseDurationUs,
  parseRatePerS,
  parseSizeBytes,
  sizeText,
  US_PER_MS,
  US_PER_S,
} from "./units.ts";
