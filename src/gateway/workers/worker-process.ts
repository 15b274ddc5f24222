/** One worker as its supervisor sees it: a process that can be told things and may end at any time. */
import type { IpcPort } from "./ipc-link.ts";

export interface WorkerProcess extends IpcPort {
  readonly pid: number;
  /** Called once, when it has ended, however. */
  onExit(listener: (code: number | null, signal: string | null) => void): void;
  kill(signal: "SIGKILL"): void;
}
