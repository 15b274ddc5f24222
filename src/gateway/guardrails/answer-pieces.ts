/** The checkable text in an answer: of each frame of a stream, or of a whole one. */
import { eventPiece, type GuardPiece, textOf } from "../../policy/index.ts";
import type { StreamEvent } from "../../stream/index.ts";

/** @param frame the bytes that the events were read from, for what no event tells. */
export function piecesOf(events: readonly StreamEvent[], frame: Buffer): GuardPiece[] {
  const pieces: GuardPiece[] = [];
  for (const event of events) {
    const piece = pieceOf(event, frame);
    if (piece !== undefined) pieces.push(piece);
  }
  return pieces;
}

function pieceOf(event: StreamEvent, frame: Buffer): GuardPiece | undefined {
  switch (event.type) {
    case "block-start":
      return event.kind === "other" ? otherPiece(frame) : undefined;
    case "unknown":
    case "fault":
      return otherPiece(frame);
    default:
      return eventPiece(event);
  }
}

/** What the provider's own tools have found, whatever is new, and what cannot be read: all of its text. */
function otherPiece(frame: Buffer): GuardPiece | undefined {
  const data = dataOf(frame);
  const text = data === undefined ? frame.toString("utf8") : textOf(data);
  return text === "" ? undefined : { kind: "prose", choice: 0, name: "other", text };
}

/** @returns the JSON of a frame, or undefined if it has none. */
export function dataOf(frame: Buffer): unknown {
  const lines = frame.toString("utf8").split(/\r\n?|\n/);
  const data = lines.filter((line) => line.startsWith("data:")).map((line) => line.slice(5));
  try {
    return JSON.parse(data.join("\n"));
  } catch {
    return undefined;
  }
}

/** Where each API's whole answer has what the model says, by route. */
const ANSWERS: Readonly<Record<string, string>> = {
  "chat/completions": "choices",
  completions: "choices",
  messages: "content",
  responses: "output",
};

/** Whether the answers of a route are what models say. */
export function isAnswerOf(route: string): boolean {
  return Object.hasOwn(ANSWERS, route);
}

/** @returns the text of a whole answer; undefined if it cannot be read. */
export function wholeText(body: Buffer, route: string): string | undefined {
  const field = ANSWERS[route];
  if (field === undefined) return undefined;
  try {
    const value = JSON.parse(body.toString("utf8")) as Readonly<Record<string, unknown>> | null;
    return textOf(value?.[field]);
  } catch {
    return undefined;
  }
}
