/**
 * Progress of long work on stderr: one line that rewrites itself at most ten times a second on a terminal, and a line every
 * ten seconds elsewhere. `clear` before anything else is printed.
 */
import { US_PER_S } from "../core/index.ts";
import type { Io } from "./io.ts";

const TERMINAL_EVERY_US = US_PER_S / 10;
const PLAIN_EVERY_US = 10 * US_PER_S;
const COLUMNS = 78;

export class ProgressLine {
  readonly #io: Io;
  readonly #everyUs: number;
  #shownUs: number;
  #isDrawn = false;

  constructor(io: Io) {
    this.#io = io;
    const isTerminal = io.stderr.isTTY === true;
    this.#everyUs = isTerminal ? TERMINAL_EVERY_US : PLAIN_EVERY_US;
    this.#shownUs = isTerminal ? Number.NEGATIVE_INFINITY : io.clock.nowUs();
  }

  /** @param share of the work that is done, 0 to 1. */
  show(text: string, share: number): void {
    const nowUs = this.#io.clock.nowUs();
    if (nowUs - this.#shownUs < this.#everyUs) return;
    this.#shownUs = nowUs;
    const percent = `${Math.floor(Math.min(1, Math.max(0, share)) * 100)} %`.padStart(5);
    const line = `${percent}  ${text}`.slice(0, COLUMNS);
    if (this.#io.stderr.isTTY === true) {
      this.#io.stderr.write(`\r\x1b[2K${line}`);
      this.#isDrawn = true;
    } else {
      this.#io.stderr.write(`${line}\n`);
    }
  }

  clear(): void {
    if (this.#isDrawn) this.#io.stderr.write("\r\x1b[2K");
    this.#isDrawn = false;
  }
}
