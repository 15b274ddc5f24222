/** How results are drawn where they go: colour and width only on a terminal, and never against NO_COLOR. */
import type { TerminalOptions } from "../report/index.ts";
import type { Io } from "./io.ts";

/** Wide enough for every table; a file or a pipe wraps nothing. */
const PIPE_COLUMNS = 100;
const COLUMNS_MAX = 120;

export function terminalOptions(io: Io): TerminalOptions {
  const { stdout, env } = io;
  const isTerminal = stdout.isTTY === true && env.TERM !== "dumb";
  return {
    color: isTerminal && (env.NO_COLOR ?? "") === "",
    columns: Math.min(COLUMNS_MAX, (isTerminal ? stdout.columns : undefined) ?? PIPE_COLUMNS),
  };
}
