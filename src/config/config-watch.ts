/**
 * Reads a configuration again when its file changes or when it is told to, and keeps the old one if the new one is wrong.
 *
 * It looks at the files' stamps once a second rather than listen for events: that sees what events miss, such as a file
 * that an editor replaced, a mount of another machine, and Kubernetes' swap of a link; and it costs one stat. A change
 * counts once two looks agree, so that half a file is not read.
 */
import { stat } from "node:fs/promises";
import type { Cancel, Clock } from "../clock/index.ts";
import { type ManxError, toManxError, US_PER_S } from "../core/index.ts";

export interface ConfigWatchOptions<Value> {
  /** The file and what it is made of, such as a file of keys: asked anew each time, since the file itself says which. */
  readonly paths: () => readonly string[];
  /** Reads and checks; rejects if anything is wrong. */
  readonly load: () => Promise<Value>;
  readonly clock: Clock;
  /** A new configuration, checked. */
  readonly onChange: (value: Value) => void;
  /** The old one stays; the error has line and column. */
  readonly onError: (error: ManxError) => void;
  /** Time between two looks. Default 1 s. */
  readonly pollUs?: number;
}

export class ConfigWatch<Value> {
  /** Since the start. */
  readonly counts = { loaded: 0, failed: 0 };
  readonly #options: ConfigWatchOptions<Value>;
  readonly #pollUs: number;
  #known: string;
  #seen: string;
  #loading: Promise<void> | undefined;
  #isAskedAgain = false;
  #cancel: Cancel = () => undefined;
  #stopped = false;

  /** @param stamp of the files as the first configuration was read from them; see `stampOf`. */
  constructor(options: ConfigWatchOptions<Value>, stamp: string) {
    this.#options = options;
    this.#pollUs = options.pollUs ?? US_PER_S;
    this.#known = stamp;
    this.#seen = stamp;
    this.#plan();
  }

  /** At once, changed or not: what SIGHUP asks for. Resolves when it is done; never rejects. */
  reload(): Promise<void> {
    if (this.#stopped) return Promise.resolve();
    if (this.#loading !== undefined) {
      // The file may have changed since the one under way was read.
      this.#isAskedAgain = true;
      return this.#loading;
    }
    this.#loading = this.#loadUntilStill().finally(() => {
      this.#loading = undefined;
    });
    return this.#loading;
  }

  stop(): void {
    this.#stopped = true;
    this.#cancel();
  }

  async #loadUntilStill(): Promise<void> {
    do {
      this.#isAskedAgain = false;
      await this.#load();
    } while (this.#isAskedAgain && !this.#stopped);
  }

  async #load(): Promise<void> {
    const { paths, load, onChange, onError } = this.#options;
    try {
      const before = paths();
      // Before it is read: what changes meanwhile is seen at the next look.
      this.#known = await stampOf(before);
      const value = await load();
      // A file that is new here may have changed since it was read: it is read once more.
      if (before.join("\n") !== paths().join("\n")) this.#known = UNSURE;
      if (this.#stopped) return;
      onChange(value);
      this.counts.loaded += 1;
    } catch (thrown) {
      if (this.#stopped) return;
      this.counts.failed += 1;
      onError(toManxError(thrown));
    }
  }

  #plan(): void {
    if (this.#stopped) return;
    const { clock } = this.#options;
    this.#cancel = clock.at(clock.nowUs() + this.#pollUs, () => void this.#look());
  }

  async #look(): Promise<void> {
    const stamp = await stampOf(this.#options.paths());
    const isStill = stamp === this.#seen;
    this.#seen = stamp;
    if (isStill && stamp !== this.#known) await this.reload();
    this.#plan();
  }
}

/** No file has this stamp. */
const UNSURE = "";

/** What differs when a file has been written or replaced. A file that is not there has a stamp too. */
export async function stampOf(paths: readonly string[]): Promise<string> {
  const stamps = paths.map((path) =>
    stat(path, { bigint: true }).then(
      ({ dev, ino, size, mtimeNs, ctimeNs }) => [dev, ino, size, mtimeNs, ctimeNs].join(":"),
      () => "gone",
    ),
  );
  return (await Promise.all(stamps)).join(" ");
}
