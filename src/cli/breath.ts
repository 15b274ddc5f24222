/** Long computing in one thread hears no Ctrl-C: between two parts of it the event loop has to have its turn. */
import { realClock } from "../clock/index.ts";
import { ManxError } from "../core/index.ts";

/** @throws MANX_INTERRUPTED if the signal has been pulled meanwhile. */
export async function breath(interrupt: AbortSignal): Promise<void> {
  // The real clock whatever the command's own is: this waits for the process and not for a time.
  await new Promise<void>((resolve) => {
    realClock.at(realClock.nowUs(), resolve);
  });
  if (!interrupt.aborted) return;
  throw new ManxError("MANX_INTERRUPTED", {
    what: "interrupted before there was a result; nothing is saved",
  });
}
