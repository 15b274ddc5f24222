/** What a model's client gives back, in whichever form, as reads one after the other. */
import { ManxError } from "../../core/index.ts";

/** Bytes of the response, an SDK's chunks or events, or pieces of text. */
export type SourceItem = Uint8Array | string | object;

/** A `Response`, its body, an SDK's stream, or any other iterable of what has come. */
export type ModelSource =
  | AsyncIterable<SourceItem>
  | ReadableStream<SourceItem>
  | { readonly body: ReadableStream<Uint8Array> | null };

/** @throws MANX_RAIL_INVALID for what is none. */
export function readsOf(source: ModelSource): AsyncIterator<SourceItem> {
  if (typeof source === "object" && source !== null) {
    if (Symbol.asyncIterator in source) return source[Symbol.asyncIterator]();
    if (isStream(source)) return readerOf(source);
    if ("body" in source) {
      return source.body === null ? NOTHING : readsOf(source.body as ReadableStream<SourceItem>);
    }
  }
  throw new ManxError("MANX_RAIL_INVALID", {
    what: "an answer that cannot be read",
    expected: "a Response, a stream, or an async iterable of bytes, chunks or text",
    got: source === null ? "null" : typeof source,
  });
}

function isStream(source: object): source is ReadableStream<SourceItem> {
  return "getReader" in source;
}

const NOTHING: AsyncIterator<SourceItem> = {
  next: () => Promise.resolve({ done: true, value: undefined }),
};

/** Not every browser's streams are iterable. */
function readerOf(stream: ReadableStream<SourceItem>): AsyncIterator<SourceItem> {
  const reader = stream.getReader();
  return {
    next: () => reader.read() as Promise<IteratorResult<SourceItem>>,
    return: async () => {
      await reader.cancel();
      return { done: true, value: undefined };
    },
  };
}
