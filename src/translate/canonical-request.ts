/**
 * A request as all three formats mean it: what each reader makes and each writer takes. A conversation is a list of turns
 * in order; calls and their results carry their ids, so that parallel ones stay matched.
 */
import type { JsonObject } from "../stream/wire-words.ts";
import type { Seal } from "./seal.ts";

/** The provider should keep the prompt up to here. */
export interface CacheMark {
  readonly ttl: "5m" | "1h" | null;
}

export interface TextPart {
  readonly kind: "text";
  readonly text: string;
  readonly cacheMark: CacheMark | null;
}

/** Where bytes come from: the body itself, or an address that the provider reads. */
export type Source =
  | { readonly kind: "base64"; readonly mediaType: string; readonly data: string }
  | { readonly kind: "url"; readonly url: string };

export interface ImagePart {
  readonly kind: "image";
  readonly source: Source;
  readonly cacheMark: CacheMark | null;
}

export interface DocumentPart {
  readonly kind: "document";
  readonly source: Source;
  readonly name: string | null;
  readonly cacheMark: CacheMark | null;
}

/** `argumentsText` is JSON text as it came; it may be broken, as a model can break it. */
export interface CallPart {
  readonly kind: "call";
  readonly id: string;
  readonly name: string;
  readonly argumentsText: string;
  readonly cacheMark: CacheMark | null;
}

export interface ResultPart {
  readonly kind: "result";
  readonly callId: string;
  readonly parts: readonly ContentPart[];
  readonly isError: boolean;
  readonly cacheMark: CacheMark | null;
}

export interface ThinkingPart {
  readonly kind: "thinking";
  readonly text: string;
  /** Without it no provider takes the thinking back. */
  readonly seal: Seal | undefined;
}

export type ContentPart = TextPart | ImagePart | DocumentPart;
export type Part = ContentPart | CallPart | ResultPart | ThinkingPart;

export interface Turn {
  readonly role: "system" | "user" | "assistant";
  readonly parts: readonly Part[];
  /** Path of the message in the caller's body, for notes and errors. */
  readonly path: string;
}

export interface Tool {
  readonly name: string;
  readonly description: string | null;
  /** JSON Schema of the arguments. */
  readonly schema: JsonObject | null;
  readonly isStrict: boolean | null;
  readonly cacheMark: CacheMark | null;
}

export type ToolChoice =
  | { readonly kind: "auto" | "none" | "required" }
  | { readonly kind: "named"; readonly name: string };

export type Effort = "minimal" | "low" | "medium" | "high" | "xhigh" | "max";

export interface Reasoning {
  /** `auto`: the model decides whether. */
  readonly mode: "on" | "off" | "auto";
  readonly effort: Effort | null;
  readonly budgetTokens: number | null;
}

export type OutputForm =
  | { readonly kind: "json" }
  | {
      readonly kind: "schema";
      readonly name: string;
      readonly description: string | null;
      readonly schema: JsonObject;
      readonly isStrict: boolean | null;
    };

export interface CanonicalRequest {
  readonly model: string;
  readonly turns: readonly Turn[];
  readonly tools: readonly Tool[];
  readonly toolChoice: ToolChoice | null;
  readonly parallelCalls: boolean | null;
  readonly tokensMax: number | null;
  readonly temperature: number | null;
  readonly topP: number | null;
  readonly topK: number | null;
  readonly stop: readonly string[];
  readonly isStream: boolean;
  readonly includeUsage: boolean;
  readonly reasoning: Reasoning | null;
  readonly outputForm: OutputForm | null;
  readonly userId: string | null;
}
