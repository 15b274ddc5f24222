/** A response that another model goes on with, from one chunk to the next, without a word. */
import type { Answer, FinishReason, Piece } from "./answer.ts";
import type { ResponseForm, Usage } from "./response-form.ts";

export class ModelChangeForm implements ResponseForm {
  readonly #before: ResponseForm;
  readonly #after: ResponseForm;
  readonly #onChange: () => void;
  #left: number;
  #hasChanged = false;

  /** @param chunks that the first form gets. @param onChange called once, if it comes to that. */
  constructor(before: ResponseForm, after: ResponseForm, chunks: number, onChange: () => void) {
    this.#before = before;
    this.#after = after;
    this.#left = chunks;
    this.#onChange = onChange;
  }

  open(): string {
    return this.#form().open();
  }

  chunk(pieces: readonly Piece[]): string {
    const text = this.#form().chunk(pieces);
    this.#left -= 1;
    return text;
  }

  finish(reason: FinishReason): string {
    return this.#form().finish(reason);
  }

  usage(usage: Usage): string {
    return this.#form().usage(usage);
  }

  /** A whole answer has one name, the other one. */
  whole(answer: Answer, usage: Usage): Record<string, unknown> {
    this.#left = 0;
    return this.#form().whole(answer, usage);
  }

  #form(): ResponseForm {
    if (this.#left > 0) return this.#before;
    if (!this.#hasChanged) {
      this.#hasChanged = true;
      this.#onChange();
    }
    return this.#after;
  }
}
