/** A span in OTLP's JSON encoding, as both writers have it: that of turns, and the gateway's, of calls. */
import type { KeyValue } from "./otlp-value.ts";

export interface OtlpSpan {
  readonly traceId: string;
  readonly spanId: string;
  readonly parentSpanId?: string;
  readonly name: string;
  readonly kind: number;
  readonly startTimeUnixNano: string;
  readonly endTimeUnixNano: string;
  readonly attributes: readonly KeyValue[];
  readonly events?: readonly {
    readonly name: string;
    readonly timeUnixNano: string;
    readonly attributes: readonly KeyValue[];
  }[];
  readonly links?: readonly {
    readonly traceId: string;
    readonly spanId: string;
    readonly attributes: readonly KeyValue[];
  }[];
  readonly status: { readonly code: number; readonly message?: string };
}

export const SPAN_KIND = { internal: 1, server: 2, client: 3 } as const;
export const SPAN_STATUS = { unset: 0, ok: 1, error: 2 } as const;
