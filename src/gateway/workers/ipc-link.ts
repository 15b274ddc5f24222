/**
 * Questions and answers between two processes over the channel that Node gives a child. Either side may ask; an answer that
 * does not come within its time is an error and not a wait; what the other side is not asked for is ignored.
 *
 * Bounded: questions open at a time. Each has a time-out, so none is remembered for ever.
 */
import type { Cancel, Clock } from "../../clock/index.ts";
import { ManxError, toManxError } from "../../core/index.ts";
import { errorFrom } from "./plain-error.ts";

/** One end of a channel; messages are JSON. */
export interface IpcPort {
  /** A channel that has closed takes a message in silence. */
  send(message: object): void;
  onMessage(listener: (message: unknown) => void): void;
}

export type IpcHandler = (value: unknown) => unknown;

interface Asked {
  readonly resolve: (value: unknown) => void;
  readonly reject: (error: ManxError) => void;
  readonly cancel: Cancel;
}

/** Tells our messages from those of others on the same channel. */
interface Message {
  readonly manx: "tell" | "ask" | "answer" | "error";
  readonly name?: string;
  readonly id?: number;
  readonly value?: unknown;
}

const ASKED_MAX = 1_000;

export class IpcLink {
  readonly #port: IpcPort;
  readonly #clock: Clock;
  readonly #handlers = new Map<string, IpcHandler>();
  readonly #asked = new Map<number, Asked>();
  #nextId = 0;

  constructor(port: IpcPort, clock: Clock) {
    this.#port = port;
    this.#clock = clock;
    port.onMessage((message) => this.#onMessage(message));
  }

  /** @param handler its result, or what it throws, is the answer to a question by that name. */
  on(name: string, handler: IpcHandler): void {
    this.#handlers.set(name, handler);
  }

  tell(name: string, value?: unknown): void {
    this.#send({ manx: "tell", name, value });
  }

  /** @throws MANX_WORKER if there is no answer in time; what the handler has thrown. */
  ask(name: string, value: unknown, timeoutUs: number): Promise<unknown> {
    if (this.#asked.size >= ASKED_MAX) return Promise.reject(noAnswer(name, "too many questions"));
    const id = this.#nextId;
    this.#nextId += 1;
    return new Promise((resolve, reject) => {
      const cancel = this.#clock.at(this.#clock.nowUs() + timeoutUs, () => {
        this.#asked.delete(id);
        reject(noAnswer(name, "no answer in time"));
      });
      this.#asked.set(id, { resolve, reject, cancel });
      this.#send({ manx: "ask", name, id, value });
    });
  }

  /** The other side is gone: nothing that is open will be answered. */
  close(): void {
    for (const [id, { cancel, reject }] of this.#asked) {
      cancel();
      this.#asked.delete(id);
      reject(noAnswer("question", "the process has ended"));
    }
  }

  #onMessage(value: unknown): void {
    const message = readMessage(value);
    if (message === undefined) return;
    const { manx, name = "", id } = message;
    if (manx === "tell" || manx === "ask")
      void this.#handle(name, manx === "ask" ? id : undefined, message.value);
    else if (id !== undefined) this.#onAnswer(id, message);
  }

  async #handle(name: string, id: number | undefined, value: unknown): Promise<void> {
    const handler = this.#handlers.get(name);
    try {
      if (handler === undefined)
        throw new ManxError("MANX_WORKER", { where: name, got: "no handler" });
      const answer = await handler(value);
      if (id !== undefined) this.#send({ manx: "answer", id, value: answer });
    } catch (thrown) {
      if (id !== undefined) this.#send({ manx: "error", id, value: toManxError(thrown).toJSON() });
    }
  }

  #onAnswer(id: number, { manx, value }: Message): void {
    const asked = this.#asked.get(id);
    if (asked === undefined) return;
    this.#asked.delete(id);
    asked.cancel();
    if (manx === "answer") asked.resolve(value);
    else asked.reject(errorFrom(value));
  }

  #send(message: Message): void {
    this.#port.send(message);
  }
}

function noAnswer(where: string, got: string): ManxError {
  return new ManxError("MANX_WORKER", { what: "another process does not answer", where, got });
}

function readMessage(value: unknown): Message | undefined {
  if (typeof value !== "object" || value === null) return undefined;
  const { manx, name, id } = value as Partial<Record<keyof Message, unknown>>;
  const isKind = manx === "tell" || manx === "ask" || manx === "answer" || manx === "error";
  if (!isKind || (id !== undefined && typeof id !== "number")) return undefined;
  if (name !== undefined && typeof name !== "string") return undefined;
  return value as Message;
}
