/** `manx/node`: what needs Node's own context. */
export { currentTurn, withTurn } from "./ambient.ts";
