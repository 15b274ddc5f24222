/** What is read off a request on its way: model, streaming, size, and whether it may be computed twice. */
export { promptTokensAbout } from "./prompt-size.ts";
export { isRepeatable } from "./repeatable.ts";
export { peekRequest, type RequestPeek, replaceModel } from "./request-peek.ts";
