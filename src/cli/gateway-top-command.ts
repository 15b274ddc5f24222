/** `manx gateway top`: a running gateway in a terminal, refreshed each second from its /metrics. */
import type { Command } from "commander";
import { isoTime } from "../clock/index.ts";
import { isManxError, ManxError, parseDurationUs, US_PER_S } from "../core/index.ts";
import type { Look } from "../gateway/seeing/index.ts";
import type { Io } from "./io.ts";
import { fetchPage, pageUrl } from "./metrics-source.ts";
import { terminalOptions } from "./terminal-options.ts";

interface TopFlags {
  readonly url: string;
  readonly interval: string;
  readonly once?: true;
  readonly json?: true;
}

/** Percentiles of one second have too few values; of more than a minute they hide what has just begun. */
const WINDOW_US = 60 * US_PER_S;
const ENTER = "\x1b[?1049h\x1b[?25l";
const LEAVE = "\x1b[?25h\x1b[?1049l";
const HOME = "\x1b[H";
const CLEAR_LINE = "\x1b[K";
const CLEAR_BELOW = "\x1b[J";
const ROWS_DEFAULT = 40;
const COLUMNS_DEFAULT = 100;

export function addGatewayTopCommand(gateway: Command, io: Io): void {
  gateway
    .command("top")
    .description(
      "Show a running gateway: TTFT, ITL, queues, retries, connections, by model and upstream.",
    )
    .option("--url <url>", "the gateway, or its /metrics", "http://127.0.0.1:4000")
    .option("--interval <duration>", "between two looks", "1s")
    .option("--once", "one table of all since the gateway's start, and out")
    .option("--json", "a line of JSON instead of each table")
    .addHelpText(
      "after",
      "\nExamples:\n  manx gateway top\n  manx gateway top --once\n  manx gateway top --json | jq .inFlight\n",
    )
    .action((flags: TopFlags) => runTop(flags, io));
}

async function runTop(flags: TopFlags, io: Io): Promise<void> {
  const url = pageUrl(flags.url, "--url");
  const intervalUs = parseDurationUs(flags.interval, "--interval");
  const top = await TopScreen.open(url, flags, io);
  // The first answer decides: what is not there, or is no gateway, is told and not waited for.
  await top.refresh();
  if (flags.once === true) return;
  try {
    top.enter();
    for (;;) {
      await io.clock.sleepUntil(io.clock.nowUs() + intervalUs, io.interrupt);
      await top.refresh();
    }
  } catch (thrown) {
    if (!io.interrupt.aborted) throw thrown;
  } finally {
    top.leave();
  }
}

class TopScreen {
  readonly #url: URL;
  readonly #flags: TopFlags;
  readonly #io: Io;
  readonly #seeing: typeof import("../gateway/seeing/index.ts");
  readonly #view: typeof import("./gateway-top-view.ts");
  /** Of the last minute, oldest first. */
  readonly #looks: Look[] = [];
  #isEntered = false;

  private constructor(
    url: URL,
    flags: TopFlags,
    io: Io,
    parts: [typeof import("../gateway/seeing/index.ts"), typeof import("./gateway-top-view.ts")],
  ) {
    this.#url = url;
    this.#flags = flags;
    this.#io = io;
    [this.#seeing, this.#view] = parts;
  }

  static async open(url: URL, flags: TopFlags, io: Io): Promise<TopScreen> {
    const parts = await Promise.all([
      import("../gateway/seeing/index.ts"),
      import("./gateway-top-view.ts"),
    ]);
    return new TopScreen(url, flags, io, parts);
  }

  /** Only where somebody looks; a pipe gets the frames one after another. */
  get #isScreen(): boolean {
    const { stdout, env } = this.#io;
    return stdout.isTTY === true && env.TERM !== "dumb" && this.#flags.json !== true;
  }

  enter(): void {
    if (!this.#isScreen) return;
    this.#isEntered = true;
    this.#io.stdout.write(ENTER);
    this.#draw(undefined);
  }

  leave(): void {
    if (this.#isEntered) this.#io.stdout.write(LEAVE);
  }

  /** @throws MANX_TARGET_DOWN for the first look; later ones say so in the frame. */
  async refresh(): Promise<void> {
    let fault: string | undefined;
    try {
      await this.#look();
    } catch (thrown) {
      if (this.#looks.length === 0 || this.#io.interrupt.aborted || !isManxError(thrown))
        throw thrown;
      fault = `no answer: ${thrown.got ?? thrown.message}; these are the last figures`;
    }
    this.#draw(fault);
  }

  async #look(): Promise<void> {
    const { clock } = this.#io;
    const text = await fetchPage(this.#url, this.#io, "the gateway's metrics cannot be fetched");
    const look = this.#seeing.look(text, clock.nowUs(), clock.wallMs());
    if (!look.page.has("manx_gateway_in_flight")) {
      throw new ManxError("MANX_TARGET_DOWN", {
        what: "what answers there is no Manx gateway",
        where: this.#url.origin + this.#url.pathname,
        expected: "the metrics of manx gateway",
        got: "a page without them",
        hint: "give the gateway's own address with --url",
      });
    }
    this.#looks.push(look);
    while (this.#looks.length > 2 && look.atUs - this.#looks[1]!.atUs >= WINDOW_US) {
      this.#looks.shift();
    }
  }

  #draw(fault: string | undefined): void {
    const { stdout, clock } = this.#io;
    const now = this.#looks.at(-1)!;
    const before = this.#looks.length > 1 ? this.#looks[0] : undefined;
    const snapshot = this.#seeing.takeTop(now, before);
    if (this.#flags.json === true) {
      stdout.write(`${JSON.stringify({ time: isoTime(clock.wallMs()), ...snapshot, fault })}\n`);
      return;
    }
    const { color = false, columns = COLUMNS_DEFAULT } = terminalOptions(this.#io);
    const where = this.#url.origin;
    const rows = this.#isEntered ? (stdout.rows ?? ROWS_DEFAULT) : Number.POSITIVE_INFINITY;
    const lines = this.#view.drawTop(snapshot, { columns, rows, color, where, fault });
    if (this.#isEntered) {
      stdout.write(`${HOME}${lines.map((line) => line + CLEAR_LINE).join("\n")}${CLEAR_BELOW}`);
    } else if (!this.#isScreen || this.#flags.once === true) {
      stdout.write(`${lines.join("\n")}\n\n`);
    }
  }
}
