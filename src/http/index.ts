/** What every HTTP server of Manx needs on node:http: listening, bounded bodies, whole answers. */
export { sendError, sendJson } from "./answer.ts";
export { parseJsonObject, readBody } from "./body.ts";
export { close, type ListenOptions, listen } from "./listen.ts";
