/** One answer from the upstream's wire format into the client's, while it streams. */
export {
  StreamTranslator,
  type StreamTranslatorOptions,
  type TranslatedEnd,
} from "./stream-translator.ts";
