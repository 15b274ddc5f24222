/** A whole answer as all three formats mean it. */
import type { FinishReason, TokenUsage } from "../stream/index.ts";
import type { Seal } from "./seal.ts";

export type AnswerPart =
  | { readonly kind: "text"; readonly text: string }
  | { readonly kind: "refusal"; readonly text: string }
  | { readonly kind: "thinking"; readonly text: string; readonly seal: Seal | undefined }
  | {
      readonly kind: "call";
      readonly id: string;
      readonly name: string;
      /** JSON text as it came. */
      readonly argumentsText: string;
    };

export interface CanonicalAnswer {
  readonly id: string | null;
  readonly model: string | null;
  /** Unix time, seconds; null if the wire has none. */
  readonly createdS: number | null;
  readonly parts: readonly AnswerPart[];
  /** Null if the answer gives none. */
  readonly finish: { readonly reason: FinishReason; readonly raw: string } | null;
  /** As the wire counts that it came on. */
  readonly usage: TokenUsage;
  readonly stopSequence: string | null;
}

export function textIn(
  parts: readonly AnswerPart[],
  kind: "text" | "refusal" | "thinking",
): string {
  return parts.map((part) => (part.kind === kind ? part.text : "")).join("");
}
