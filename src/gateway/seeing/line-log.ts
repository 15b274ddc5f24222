/**
 * Gathers lines, writes them in the background and never holds up who gives them: what does not fit the queue, or cannot
 * be written, is dropped and counted. A fault is told once until writing works again, and tried anew after a while.
 *
 * A write for each line cost more than all else of a log: a trip through Node's thread pool, 10 to 15 µs of processor
 * time. So lines wait for each other, but no line for longer than GATHER_US, unless the write before it takes longer than
 * that; GATHER_CHARS of them go at once. A process that is killed takes along what it has gathered.
 *
 * Bounded: LINES_MAX lines and CHARS_MAX of them wait; one write at a time; no timer while nothing waits.
 */
import type { Cancel, Clock } from "../../clock/index.ts";
import { Fifo, ManxError, US_PER_MS, US_PER_S } from "../../core/index.ts";
import type { LogTarget, OpenLog } from "./log-target.ts";

export interface LineCounts {
  written: number;
  dropped: number;
}

export interface LineLogOptions {
  readonly target: LogTarget;
  readonly clock: Clock;
  readonly counts: LineCounts;
  readonly onFault: (error: ManxError) => void;
}

const LINES_MAX = 20_000;
const CHARS_MAX = 16 * 1024 * 1024;
const BATCH_LINES_MAX = 500;
const GATHER_CHARS = 64 * 1024;
const GATHER_US = 100 * US_PER_MS;
const RETRY_US = US_PER_S;
/** A pipe that is full for now. */
const FULL_US = 20 * US_PER_MS;
/** When the gateway closes, for what still waits. */
const CLOSE_US = 2 * US_PER_S;

export class LineLog {
  readonly #options: LineLogOptions;
  readonly #lines = new Fifo<string>();
  #chars = 0;
  #log: OpenLog | undefined;
  #isStale = false;
  /** The last write has broken off within a line. */
  #isMidLine = false;
  #isFaulty = false;
  #closeUs = Number.POSITIVE_INFINITY;
  /** Armed while lines wait that no write is due for. */
  #cancelTimer: Cancel | undefined;
  /** What waits is to be written now, or once the write that is on its way has ended. */
  #isDue = false;
  #pumping: Promise<void> | undefined;

  constructor(options: LineLogOptions) {
    this.#options = options;
  }

  /** Before the first line, so that a path that cannot be written is told of at the start. */
  open(): void {
    this.#pumping ??= this.#openFirst();
  }

  async #openFirst(): Promise<void> {
    try {
      this.#log ??= await this.#options.target.open();
    } catch (thrown) {
      this.#tell(thrown as NodeJS.ErrnoException);
    }
    // Lines may have come meanwhile.
    await this.#pump();
  }

  /** @param line without its end. */
  write(line: string): void {
    if (this.#lines.size >= LINES_MAX || this.#chars + line.length > CHARS_MAX) {
      this.#options.counts.dropped += 1;
      return;
    }
    this.#lines.push(line);
    this.#chars += line.length;
    if (this.#chars >= GATHER_CHARS) this.#flush();
    else if (!this.#isDue) this.#arm();
  }

  /** The file was moved away, as log rotation does: the next line goes to a new one of its name. */
  reopen(): void {
    this.#isStale = true;
  }

  /** Writes what waits, for a bounded time. */
  async close(): Promise<void> {
    this.#closeUs = this.#options.clock.nowUs() + CLOSE_US;
    this.#flush();
    const { signal, cancel } = this.#options.clock.deadline(this.#closeUs);
    // A write that never comes back (a pipe that nobody reads) is left behind.
    const over = new Promise<void>((resolve) => {
      signal.addEventListener("abort", () => resolve(), { once: true });
    });
    await Promise.race([this.#pumping, over]);
    cancel();
    await this.#shut();
  }

  get #isOver(): boolean {
    return this.#options.clock.nowUs() >= this.#closeUs;
  }

  #arm(): void {
    const { clock } = this.#options;
    this.#cancelTimer ??= clock.at(clock.nowUs() + GATHER_US, () => this.#flush());
  }

  #flush(): void {
    this.#cancelTimer?.();
    this.#cancelTimer = undefined;
    this.#isDue = true;
    this.#pumping ??= this.#pump();
  }

  async #pump(): Promise<void> {
    while (this.#isDue) {
      this.#isDue = false;
      await this.#writeLines(this.#lines.size);
    }
    this.#pumping = undefined;
  }

  /** @param count the oldest ones; what comes meanwhile waits for its own time. */
  async #writeLines(count: number): Promise<void> {
    const { clock, counts } = this.#options;
    for (let left = count; left > 0; ) {
      const lines = this.#take(left);
      left -= lines.length;
      try {
        await this.#writeAll(Buffer.from(`${this.#isMidLine ? "\n" : ""}${lines.join("\n")}\n`));
        counts.written += lines.length;
        this.#isFaulty = false;
      } catch (thrown) {
        counts.dropped += lines.length;
        await this.#shut();
        if (this.#isOver) continue;
        this.#tell(thrown as NodeJS.ErrnoException);
        await clock.sleepUntil(clock.nowUs() + RETRY_US);
      }
    }
  }

  #take(countMax: number): string[] {
    const lines: string[] = [];
    while (lines.length < Math.min(countMax, BATCH_LINES_MAX)) {
      const line = this.#lines.shift()!;
      this.#chars -= line.length;
      lines.push(line);
    }
    return lines;
  }

  async #writeAll(bytes: Buffer): Promise<void> {
    const { clock, target } = this.#options;
    if (this.#isStale) await this.#shut();
    this.#log ??= await target.open();
    for (let at = 0; at < bytes.length; ) {
      if (this.#isOver) throw new Error("the gateway has closed");
      try {
        at += await this.#log.write(bytes.subarray(at));
        this.#isMidLine = at < bytes.length;
      } catch (thrown) {
        if ((thrown as NodeJS.ErrnoException).code !== "EAGAIN") throw thrown;
        await clock.sleepUntil(clock.nowUs() + FULL_US);
      }
    }
  }

  async #shut(): Promise<void> {
    const log = this.#log;
    this.#log = undefined;
    this.#isStale = false;
    // A file that cannot even be closed is given up.
    await log?.close().catch(() => undefined);
  }

  #tell(cause: NodeJS.ErrnoException): void {
    if (this.#isFaulty) return;
    this.#isFaulty = true;
    const { target, onFault } = this.#options;
    onFault(
      new ManxError("MANX_LOG_UNWRITABLE", {
        where: target.where,
        got: cause.code ?? cause.message,
        cause,
      }),
    );
  }
}
