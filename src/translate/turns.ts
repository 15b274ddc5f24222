/** The conversation in the shape that a writer needs. */
import type { Part, ResultPart, Turn } from "./canonical-request.ts";

/** Turns of one role that follow each other are one. */
export function joinTurns(turns: readonly Turn[]): Turn[] {
  const joined: Turn[] = [];
  for (const turn of turns) {
    const last = joined.at(-1);
    if (last?.role !== turn.role) joined.push(turn);
    else joined[joined.length - 1] = { ...last, parts: [...last.parts, ...turn.parts] };
  }
  return joined;
}

export function isResult(part: Part): part is ResultPart {
  return part.kind === "result";
}

/** The assistant's turn whose results the request brings: its thinking belongs to the answer that is asked for. */
export function openToolTurn(turns: readonly Turn[]): Turn | undefined {
  const last = turns.at(-1);
  if (last?.role !== "user" || !last.parts.some(isResult)) return undefined;
  const before = turns.at(-2);
  return before?.role === "assistant" ? before : undefined;
}

export function isTextOnly(parts: readonly Part[]): boolean {
  return parts.every((part) => part.kind === "text");
}

export function textOfParts(parts: readonly Part[]): string {
  return parts.map((part) => (part.kind === "text" ? part.text : "")).join("");
}
