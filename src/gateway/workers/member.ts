/** One worker of a crew: what state it is in, and the questions to it. */
import type { Clock } from "../../clock/index.ts";
import type { ManxError } from "../../core/index.ts";
import { IpcLink } from "./ipc-link.ts";
import type { WorkerProcess } from "./worker-process.ts";

export type MemberState =
  /** Reads its configuration and connects. */
  | "starting"
  | "serving"
  /** Takes no new work. */
  | "leaving"
  | "gone";

export interface MemberStatus {
  /** Counted from 1 over all that were ever started. */
  readonly worker: number;
  readonly pid: number;
  readonly state: MemberState;
}

export class Member {
  readonly number: number;
  readonly startedUs: number;
  readonly link: IpcLink;
  readonly #process: WorkerProcess;
  state: MemberState = "starting";
  /** Why it could not start, if it has said so. */
  failure: ManxError | undefined;
  /** What it said when it began to serve; undefined if it ended before. */
  readonly ready: Promise<unknown>;
  readonly gone: Promise<void>;
  #onReady: (value: unknown) => void = () => undefined;
  #onGone: () => void = () => undefined;

  constructor(number: number, process: WorkerProcess, clock: Clock) {
    this.number = number;
    this.startedUs = clock.nowUs();
    this.#process = process;
    this.link = new IpcLink(process, clock);
    this.ready = new Promise((resolve) => {
      this.#onReady = resolve;
    });
    this.gone = new Promise((resolve) => {
      this.#onGone = resolve;
    });
  }

  get status(): MemberStatus {
    return { worker: this.number, pid: this.#process.pid, state: this.state };
  }

  serves(value: unknown): void {
    if (this.state === "starting") this.state = "serving";
    this.#onReady(value ?? null);
  }

  hasGone(): void {
    this.state = "gone";
    this.link.close();
    this.#onReady(undefined);
    this.#onGone();
  }

  /** It ends by itself once its open requests have. */
  leave(): void {
    if (this.state === "gone") return;
    this.state = "leaving";
    this.link.tell("leave");
  }

  /** Its open requests end with an error now. */
  cut(): void {
    if (this.state !== "gone") this.link.tell("cut");
  }

  kill(): void {
    if (this.state !== "gone") this.#process.kill("SIGKILL");
  }
}
