/**
 * What a streamed answer has said so far, as long as that is one plain text: what another attempt can be given to go on
 * with. Anything else in it (reasoning, a refusal, a tool call, a second choice) ends that for good.
 */
import { isOutput, type StreamEvent } from "../stream-event.ts";
import type { TokenUsage } from "../token-usage.ts";

/** A longer text is not kept: to compute it again would cost more than its rest is worth. */
const CHARS_MAX = 512 * 1024;
const CHARS_PER_TOKEN = 4;

export class Transcript {
  #parts: string[] = [];
  #chars = 0;
  #blocks = 0;
  #isPlain = true;
  #hasEnded = false;
  #usage: TokenUsage | undefined;
  /** Of the newest event. */
  frame = -1;
  id: string | null = null;
  model: string | null = null;

  note(event: StreamEvent): void {
    this.frame = event.frame;
    switch (event.type) {
      case "text-delta":
        this.#add(event.text, event.choice);
        return;
      case "response-start":
        this.id ??= event.id;
        this.model ??= event.model;
        return;
      case "block-start":
        this.#blocks += 1;
        if (event.kind !== "text" || this.#blocks > 1) this.#spoil();
        return;
      case "usage":
        this.#usage = event.usage;
        return;
      case "finish":
      case "done":
      case "error":
        this.#hasEnded = true;
        return;
      case "unknown":
      case "reasoning-signature":
        this.#spoil();
        return;
      default:
        if (isOutput(event)) this.#spoil();
    }
  }

  get text(): string {
    return this.#parts.join("");
  }

  /** Plain text, some of which is more than white space, and not at its end. */
  get canContinue(): boolean {
    return this.#isPlain && !this.#hasEnded && this.#parts.some((part) => part.trim() !== "");
  }

  /** Of the text, about: a chunk is a token or more. */
  get tokens(): number {
    return Math.max(this.#parts.length, Math.ceil(this.#chars / CHARS_PER_TOKEN));
  }

  /** Tokens of the prompt as the upstream's wire counts them; null if it has not said. */
  get usage(): TokenUsage | undefined {
    return this.#usage;
  }

  #add(text: string, choice: number): void {
    if (text === "") return;
    this.#chars += text.length;
    if (choice !== 0 || this.#chars > CHARS_MAX) this.#spoil();
    else if (this.#isPlain) this.#parts.push(text);
  }

  #spoil(): void {
    this.#isPlain = false;
    this.#parts = [];
  }
}
