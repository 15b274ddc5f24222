import { type LayoutPart, tokensOf } from "../../policy/index.ts";

/** @returns tokens, about, that these parts render to; settings render to nothing. */
export function partTokens(parts: readonly LayoutPart[]): number {
  let chars = 0;
  for (const part of parts) if (part.kind !== "setting") chars += part.chars;
  return tokensOf(chars);
}
