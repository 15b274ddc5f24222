/** How text and events are measured and parted: in characters, and never within one. */
import { cutPlace, type PlayoutForm } from "../../policy/playout/index.ts";
import type { StreamEvent } from "../../stream/index.ts";

type Piece = string | StreamEvent;

export const playoutForm: PlayoutForm<Piece> = {
  sizeOf: (item) => textOf(item).length,
  split: (item, size) => {
    const text = textOf(item);
    const at = cutPlace(text, size);
    if (at >= text.length) return undefined;
    return [withText(item, text.slice(0, at)), withText(item, text.slice(at))];
  },
};

/** Of events that carry none: nothing, so that they go with their neighbours. */
function textOf(item: Piece): string {
  if (typeof item === "string") return item;
  switch (item.type) {
    case "text-delta":
    case "refusal-delta":
    case "reasoning-delta":
      return item.text;
    default:
      return "";
  }
}

function withText(item: Piece, text: string): Piece {
  return typeof item === "string" ? text : ({ ...item, text } as StreamEvent);
}
