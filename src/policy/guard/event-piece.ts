/** What of a canonical event is checked: prose as it grows, a call's arguments once they are whole. */
import type { StreamEvent } from "../../stream/index.ts";
import type { GuardPiece } from "./guard-machine.ts";
import { argumentsText } from "./text-leaves.ts";

/** @returns undefined for an event in which the model says nothing. */
export function eventPiece(event: StreamEvent): GuardPiece | undefined {
  switch (event.type) {
    case "text-delta":
    case "refusal-delta":
    case "reasoning-delta": {
      const { choice, text, type } = event;
      return text === "" ? undefined : { kind: "prose", choice, name: type, text };
    }
    case "tool-start":
    case "tool-delta":
      return { kind: "whole", choice: event.choice, name: `call ${event.call}`, text: undefined };
    case "tool-end": {
      const { choice, call, name, argumentsText: json } = event;
      return { kind: "whole", choice, name: `call ${call}`, text: argumentsText(name, json) };
    }
    default:
      return undefined;
  }
}
