#!/usr/bin/env node
/** The `manx` command: wires the process to the command table. */
import { realClock } from "../clock/index.ts";
import { ManxError, renderError } from "../core/index.ts";
import type { Io } from "./io.ts";
import { makeProgram, runProgram } from "./program.ts";

const controller = new AbortController();
process.on("SIGINT", () => {
  // The first one lets the command save what it has; whoever presses twice does not want to wait for that.
  if (controller.signal.aborted) process.exit(130);
  controller.abort();
});
process.on("SIGTERM", () => controller.abort());
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
  onHangup: (run) => {
    process.on("SIGHUP", run);
    return () => process.off("SIGHUP", run);
  },
};
process.exitCode = await runProgram(makeProgram(io), process.argv.slice(2), io);
