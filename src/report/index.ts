/** One result document, many faces. */
export { renderHtml } from "./html.ts";
export { renderTerminal, type TerminalOptions } from "./terminal.ts";
