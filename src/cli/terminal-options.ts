/** How a result is drawn on this terminal: NO_COLOR (no-color.org) and TERM=dumb are kept to, as is the width. */
import type { TerminalOptions } from "../report/index.ts";
import type { Io } from "./io.ts";

export function terminalOptions({ stdout, env }: Io): TerminalOptions {
  const noColor = (env.NO_COLOR ?? "") !== "" || env.TERM === "dumb";
  const { columns } = stdout as { readonly columns?: number };
  return {
    color: stdout.isTTY === true && !noColor,
    ...(columns !== undefined && { columns }),
  };
}
