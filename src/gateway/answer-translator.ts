/** An upstream's answer on its way into the caller's format: stream, whole answer or refusal. */
import { ManxError, toManxError } from "../core/index.ts";
import type { StreamEvent } from "../stream/index.ts";
import { StreamTranslator, translateError, translateResponse } from "../translate/index.ts";
import type { OutgoingSource } from "./outgoing-source.ts";
import type { Translation } from "./translation.ts";

/** Decodes what comes and has it ready in the other format. */
export class TranslatingSource implements OutgoingSource {
  readonly #translator: StreamTranslator;
  #out: Uint8Array[] = [];
  /** Something was lost on the way, or the upstream has not finished: the caller must be told. */
  isBroken = false;

  constructor({ from, to, model, includeUsage, id, createdS }: Translation) {
    this.#translator = new StreamTranslator(from, to, { id, model, createdS, includeUsage });
  }

  push(bytes: Uint8Array, atUs: number): readonly StreamEvent[] {
    this.#keep(this.#translator.push(bytes, atUs));
    return this.#translator.events;
  }

  end(atUs: number): readonly StreamEvent[] {
    const { bytes, isComplete } = this.#translator.end(atUs);
    this.#keep(bytes);
    this.isBroken = !isComplete;
    return this.#translator.events;
  }

  get completion() {
    return this.#translator.completion;
  }

  /** What has become ready since the last call. */
  take(): Buffer {
    const out = this.#out;
    this.#out = [];
    return Buffer.concat(out);
  }

  #keep(bytes: Uint8Array): void {
    if (bytes.length > 0) this.#out.push(bytes);
  }
}

/** @throws MANX_TRANSLATE_ANSWER */
export function translateWhole(body: Buffer, translation: Translation): Buffer {
  const { from, to, id, model, createdS } = translation;
  const value = parse(body);
  if (value === undefined) {
    throw new ManxError("MANX_TRANSLATE_ANSWER", { expected: "JSON", got: "something else" });
  }
  try {
    return json(translateResponse(value, from, to, { id, model, createdS }));
  } catch (thrown) {
    throw toManxError(thrown);
  }
}

export function translateRefusal(
  status: number,
  body: Buffer,
  { from, to }: Translation,
): { readonly status: number; readonly body: Buffer } {
  const translated = translateError(status, parse(body), from, to);
  return { status: translated.status, body: json(translated.body) };
}

function json(value: unknown): Buffer {
  return Buffer.from(JSON.stringify(value));
}

function parse(body: Buffer): unknown {
  try {
    return JSON.parse(body.toString("utf8"));
  } catch {
    return undefined;
  }
}
