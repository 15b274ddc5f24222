/** Ids of one turn's trace and spans: one draw of chance for the whole turn, then counting. */
import type { SecretBytes } from "../clock/index.ts";

export interface SpanIds {
  /** 32 lower-case hex digits. */
  readonly traceId: string;
  /** 16 lower-case hex digits, other ones for each index below 2^32. */
  readonly spanId: (index: number) => string;
}

export function spanIds(bytes: SecretBytes): SpanIds {
  const drawn = bytes(24);
  const traceId = hex(drawn.subarray(0, 16));
  // All zeros is no id in OpenTelemetry.
  const high = hex(drawn.subarray(16, 20)).replace(/^0{8}$/, "00000001");
  const low = new DataView(drawn.buffer, drawn.byteOffset + 20, 4).getUint32(0);
  const spanId = (index: number): string =>
    high + ((low + index) >>> 0).toString(16).padStart(8, "0");
  return { traceId: traceId.replace(/^0{32}$/, `${"0".repeat(31)}1`), spanId };
}

function hex(bytes: Uint8Array): string {
  let text = "";
  for (const byte of bytes) text += byte.toString(16).padStart(2, "0");
  return text;
}
