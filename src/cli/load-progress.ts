/** One line on stderr while load is sent: rewritten on a terminal, else a new one every ten seconds. */
import { formatUs } from "../core/index.ts";
import type { LoadProgress } from "../load/index.ts";
import type { Io } from "./io.ts";

export class ProgressLine {
  readonly everyUs: number;
  readonly #io: Io;
  readonly #expected: number | null;
  readonly #rewrites: boolean;
  #drawn = false;

  /** @param expected requests of the whole run; null if they are not counted ahead. */
  constructor(io: Io, expected: number | null) {
    this.#io = io;
    this.#expected = expected;
    this.#rewrites = io.stderr.isTTY === true && io.env.TERM !== "dumb" && io.env.CI === undefined;
    this.everyUs = this.#rewrites ? 200_000 : 10_000_000;
  }

  draw(progress: LoadProgress): void {
    const { elapsedUs, offered, open, failed, metric, p50Us, p99Us, lagP99Us } = progress;
    const of = this.#expected === null ? "" : `/${this.#expected}`;
    const text =
      `${formatUs(elapsedUs)}  sent ${progress.sent}${of}  open ${open}` +
      `${offered > progress.sent ? `  waiting ${offered - progress.sent}` : ""}` +
      `${failed > 0 ? `  failed ${failed}` : ""}` +
      `  ${metric} p50 ${formatUs(p50Us)}  p99 ${formatUs(p99Us)}  lag p99 ${formatUs(lagP99Us)}`;
    this.#io.stderr.write(this.#rewrites ? `\r\x1b[2K${text}` : `${text}\n`);
    this.#drawn = true;
  }

  /** Leaves the terminal's line to whatever is printed next. */
  end(): void {
    if (this.#rewrites && this.#drawn) this.#io.stderr.write("\r\x1b[2K");
  }
}
