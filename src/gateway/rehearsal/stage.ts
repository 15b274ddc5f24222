/** Where a rehearsal is played: in a thread of its own where the built package has the file for it, else in this one. */
import { existsSync } from "node:fs";
import { Worker } from "node:worker_threads";
import { LocalStage, type Play, type Played } from "./local-stage.ts";

export interface Stage {
  /** @returns the port of its upstream. */
  open(): Promise<number>;
  play(play: Play): Promise<Played>;
  /** What is played ends, and says what came of it. */
  stop(): void;
  close(): Promise<void>;
}

/** Of the built package, whose files all lie one folder deep. */
const THREAD = new URL("../gateway/rehearsal/stage-thread.js", import.meta.url);

export function newStage(): Stage {
  if (!existsSync(THREAD)) return new LocalStage();
  try {
    return new ThreadStage(THREAD);
  } catch {
    // Where no thread may be begun.
    return new LocalStage();
  }
}

export class ThreadStage implements Stage {
  readonly #worker: Worker;
  /** Rejects once the thread is gone: whoever asks it then, or waits for it, is told. */
  readonly #gone: Promise<never>;

  constructor(file: URL) {
    const worker = new Worker(file, { execArgv: [] });
    this.#worker = worker;
    this.#gone = new Promise((_, reject) => {
      worker.once("error", reject);
      worker.once("exit", () => reject(new Error("the stage has closed")));
    });
    this.#gone.catch(() => undefined);
  }

  open(): Promise<number> {
    return this.#next();
  }

  play(play: Play): Promise<Played> {
    this.#worker.postMessage(play);
    return this.#next();
  }

  stop(): void {
    this.#worker.postMessage("stop");
  }

  async close(): Promise<void> {
    await this.#worker.terminate();
  }

  /** The answer: there is one question at a time. @throws if the thread ends before it. */
  #next<T>(): Promise<T> {
    const answer = new Promise<T>((resolve) => this.#worker.once("message", resolve));
    return Promise.race([answer, this.#gone]);
  }
}
