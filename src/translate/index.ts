/**
 * Translation between OpenAI's chat completions and responses and Anthropic's messages: pure functions and one class
 * without I/O, for a gateway between a client of one format and an upstream of another.
 */
export { keepOwnReasoning, type OwnReasoning } from "./foreign-reasoning.ts";
export type { TranslationNote } from "./notes.ts";
export {
  StreamTranslator,
  type StreamTranslatorOptions,
  type TranslatedEnd,
} from "./stream-translator.ts";
export { type TranslatedError, translateError } from "./translate-error.ts";
export {
  type RequestOptions,
  type TranslatedRequest,
  translateRequest,
} from "./translate-request.ts";
export { type ResponseOptions, translateResponse } from "./translate-response.ts";
