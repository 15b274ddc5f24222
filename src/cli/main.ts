#!/usr/bin/env node
/** The `manx` command: wires the process to the command table. */
import { realClock } from "../clock/index.ts";
import { ManxError, renderError } from "../core/index.ts";
import type { Io } from "./io.ts";
import { makeProgram, runProgram } from "./program.ts";

const SAME_US = 200_000;
const SIGNALS = { hangup: "SIGHUP", restart: "SIGUSR2" } as const;
const controller = new AbortController();
const again = new Set<() => void>();
let interruptedUs = 0;
// The first one lets the command save what it has; whoever presses twice does not want to wait for that.
function interrupt(signal: NodeJS.Signals): void {
  const nowUs = realClock.nowUs();
  if (!controller.signal.aborted) {
    interruptedUs = nowUs;
    controller.abort();
    return;
  }
  // One Ctrl-C comes twice where a launcher such as npm hands on what the terminal has sent to all.
  if (nowUs - interruptedUs < SAME_US) return;
  if (again.size > 0) for (const run of again) run();
  else if (signal === "SIGINT") process.exit(130);
}
process.on("SIGINT", interrupt);
process.on("SIGTERM", interrupt);
// A reader that closes the pipe (`| head`) is no error; a disk that is full is one.
process.stdout.on("error", (cause: NodeJS.ErrnoException) => {
  if (cause.code === "EPIPE") return;
  const error = new ManxError("MANX_OUTPUT_UNWRITABLE", {
    where: "stdout",
    got: cause.code ?? cause.message,
  });
  process.stderr.write(`${renderError(error)}\n`);
  process.exit(error.exit);
});
process.stderr.on("error", () => undefined);

const io: Io = {
  stdout: process.stdout,
  stderr: process.stderr,
  env: process.env,
  clock: realClock,
  interrupt: controller.signal,
  onSignal: (signal, run) => {
    if (signal === "again") {
      again.add(run);
      return () => again.delete(run);
    }
    process.on(SIGNALS[signal], run);
    return () => process.off(SIGNALS[signal], run);
  },
};
process.exitCode = await runProgram(makeProgram(io), process.argv.slice(2), io);
