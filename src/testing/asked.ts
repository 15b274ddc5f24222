/** What a scripted model was asked, and in which of the formats that it speaks. */
import type { StreamFormat } from "../stream/index.ts";

export interface Asked {
  readonly path: string;
  /** Names in lower case. */
  readonly headers: Readonly<Record<string, string | string[] | undefined>>;
  // biome-ignore lint/suspicious/noExplicitAny: whatever was sent
  readonly body: any;
  /** On the clock. */
  readonly atUs: number;
  /** When the caller left before the end; undefined if it did not. */
  cancelledUs: number | undefined;
}

/** One per request, in their order, the last one repeated; or made for each. @param number from 1. */
export type ReplyScript<Reply> = readonly Reply[] | ((asked: Asked, number: number) => Reply);

const FORMATS: Readonly<Record<string, StreamFormat>> = {
  "/chat/completions": "openai-chat",
  "/responses": "openai-responses",
  "/messages": "anthropic-messages",
};

/** @returns undefined for a path that no scripted model has. */
export function formatOfPath(path: string): StreamFormat | undefined {
  return Object.entries(FORMATS).find(([end]) => path.endsWith(end))?.[1];
}

export function replyFor<Reply>(script: ReplyScript<Reply>, asked: Asked, number: number): Reply {
  return typeof script === "function"
    ? script(asked, number)
    : script[Math.min(number, script.length) - 1]!;
}
