/** A text that broke off, gone on with by another attempt on the same stream. */
export { type ContinuedOptions, ContinuedSource, promptTokens } from "./continued-source.ts";
export { PassingSource } from "./passing-source.ts";
export { canBePrefilled, type Prefill, prefillBody, prefillOf } from "./prefill.ts";
