/** One result document, many faces. */
export { renderCsv } from "./csv.ts";
export { renderHtml } from "./html.ts";
export { renderJson } from "./json.ts";
export { renderJunit } from "./junit.ts";
export { renderMarkdown } from "./markdown.ts";
export { parseResult, RESULT_CHARS_MAX } from "./parse-result.ts";
export { renderTerminal, type TerminalOptions } from "./terminal.ts";
export { renderTurn } from "./turn-terminal.ts";
