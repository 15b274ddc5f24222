/**
 * One item of a response's output while it is written, and the events that open, feed and close it. This wire repeats at
 * the end of an item all that its deltas have said, so its text is kept until then and for the terminal event.
 */
export type ItemKind = "text" | "refusal" | "reasoning" | "call";

export type Emit = (type: string, fields: Readonly<Record<string, unknown>>) => string;

type Status = "in_progress" | "completed" | "incomplete";

interface Naming {
  readonly kind: ItemKind;
  readonly id: string;
  readonly outputIndex: number;
}

export class ResponsesItem {
  readonly kind: ItemKind;
  readonly #id: string;
  readonly #outputIndex: number;
  #callId = "";
  #name = "";
  #text = "";
  #sealed: string | null = null;
  #status: Status = "in_progress";

  constructor({ kind, id, outputIndex }: Naming) {
    this.kind = kind;
    this.#id = id;
    this.#outputIndex = outputIndex;
  }

  get isDone(): boolean {
    return this.#status !== "in_progress";
  }

  nameCall(callId: string, name: string): void {
    this.#callId = callId;
    this.#name = name;
  }

  /** Encrypted reasoning, or what stands for it. */
  seal(sealed: string): void {
    this.#sealed = sealed;
  }

  open(emit: Emit): string {
    const { item_id, output_index } = this.#place;
    const added = emit("response.output_item.added", {
      output_index,
      item: this.#item("in_progress"),
    });
    const at = { item_id, output_index };
    switch (this.kind) {
      case "call":
        return added;
      case "reasoning":
        return (
          added +
          emit("response.reasoning_summary_part.added", {
            ...at,
            summary_index: 0,
            part: this.#part,
          })
        );
      default:
        return (
          added + emit("response.content_part.added", { ...at, content_index: 0, part: this.#part })
        );
    }
  }

  add(emit: Emit, delta: string): string {
    this.#text += delta;
    const place = this.#place;
    switch (this.kind) {
      case "text":
        return emit("response.output_text.delta", {
          ...place,
          content_index: 0,
          delta,
          logprobs: [],
        });
      case "refusal":
        return emit("response.refusal.delta", { ...place, content_index: 0, delta });
      case "reasoning":
        return emit("response.reasoning_summary_text.delta", { ...place, summary_index: 0, delta });
      case "call":
        return emit("response.function_call_arguments.delta", { ...place, delta });
    }
  }

  /** @param status `incomplete` if the answer was cut while the item was open. */
  close(emit: Emit, status: "completed" | "incomplete"): string {
    this.#status = status;
    const { output_index } = this.#place;
    const item = this.#item(status);
    return this.#closeParts(emit) + emit("response.output_item.done", { output_index, item });
  }

  /** As it stands in `response.output`. */
  get output(): object {
    return this.#item(this.isDone ? this.#status : "incomplete");
  }

  #closeParts(emit: Emit): string {
    const place = this.#place;
    const text = this.#text;
    switch (this.kind) {
      case "text": {
        const at = { ...place, content_index: 0 };
        const done = emit("response.output_text.done", { ...at, text, logprobs: [] });
        return done + emit("response.content_part.done", { ...at, part: this.#part });
      }
      case "refusal": {
        const at = { ...place, content_index: 0 };
        const done = emit("response.refusal.done", { ...at, refusal: text });
        return done + emit("response.content_part.done", { ...at, part: this.#part });
      }
      case "reasoning": {
        const at = { ...place, summary_index: 0 };
        const done = emit("response.reasoning_summary_text.done", { ...at, text });
        return done + emit("response.reasoning_summary_part.done", { ...at, part: this.#part });
      }
      case "call":
        return emit("response.function_call_arguments.done", {
          ...place,
          name: this.#name,
          arguments: text,
        });
    }
  }

  get #place() {
    return { item_id: this.#id, output_index: this.#outputIndex };
  }

  get #part(): object {
    const text = this.#text;
    if (this.kind === "reasoning") return { type: "summary_text", text };
    if (this.kind === "refusal") return { type: "refusal", refusal: text };
    return { type: "output_text", text, annotations: [], logprobs: [] };
  }

  #item(status: Status): object {
    const id = this.#id;
    const isOpening = status === "in_progress";
    switch (this.kind) {
      case "call":
        return {
          id,
          type: "function_call",
          status,
          call_id: this.#callId,
          name: this.#name,
          arguments: this.#text,
        };
      case "reasoning":
        return {
          id,
          type: "reasoning",
          summary: isOpening || this.#text === "" ? [] : [this.#part],
          ...(this.#sealed !== null && { encrypted_content: this.#sealed }),
        };
      default: {
        const content = isOpening ? [] : [this.#part];
        return { id, type: "message", status, role: "assistant", content };
      }
    }
  }
}
