/** The flags of `manx load`, read into a plan before anything is sent. */
import { ManxError, parseDurationUs, parseRatePerS } from "../core/index.ts";
import { parseCount, parseFactor, parseSeed } from "./flag-values.ts";

export interface LoadFlags {
  readonly url?: string;
  readonly api: string;
  readonly model?: string;
  readonly rate?: string;
  readonly arrivals?: string;
  readonly cv?: string;
  readonly duration?: string;
  readonly trace?: string;
  readonly from?: string;
  readonly speed?: string;
  readonly limit?: string;
  readonly promptTokens?: string;
  readonly outputTokens?: string;
  readonly exactOutput?: true;
  readonly stream: boolean;
  readonly slo?: string;
  readonly goodput: string;
  readonly maxErrorRate: string;
  readonly concurrency?: string;
  readonly connections?: string;
  readonly timeout: string;
  readonly seed: string;
  readonly nonce?: string;
  readonly header: readonly string[];
  readonly cold?: true;
  readonly warm?: string;
  readonly calibrate: boolean;
  readonly json?: true;
  readonly output?: string;
}

export interface GeneratedPlan {
  readonly kind: "generated";
  readonly process: "constant" | "poisson" | "gamma";
  readonly ratePerS: number;
  readonly cv: number;
  readonly durationUs: number;
  readonly promptTokens: number;
  readonly outputTokens: number;
}

export interface TracePlan {
  readonly kind: "trace";
  readonly path: string;
  readonly speed: number;
  readonly limit: number | undefined;
  readonly fromUs: number;
  readonly durationUs: number | undefined;
}

export interface LoadPlan {
  readonly url: string;
  readonly workload: GeneratedPlan | TracePlan;
  readonly goodputMin: number;
  readonly errorRateMax: number;
  readonly concurrencyMax: number | undefined;
  readonly connectionsMax: number | undefined;
  readonly timeoutUs: number;
  readonly seed: number;
  readonly nonce: string | undefined;
  readonly warm: number;
  /** Names in lower case. */
  readonly headers: Readonly<Record<string, string>>;
}

const PROCESSES = ["constant", "poisson", "gamma"] as const;

/** @throws MANX_FLAG_MISSING, MANX_FLAG_VALUE, MANX_RATE, MANX_DURATION */
export function readPlan(flags: LoadFlags): LoadPlan {
  if (flags.url === undefined) {
    throw new ManxError("MANX_FLAG_MISSING", {
      where: "--url",
      expected: "the base URL of a server, such as http://127.0.0.1:8000",
      hint: "start one with: manx engine --port 8000",
    });
  }
  if (flags.cold === true && flags.warm !== undefined) {
    throw new ManxError("MANX_FLAG_VALUE", {
      what: "two flags contradict each other",
      where: "--cold and --warm",
      hint: "leave one out",
    });
  }
  return {
    url: flags.url,
    workload: flags.trace === undefined ? generatedPlan(flags) : tracePlan(flags, flags.trace),
    goodputMin: parseShare(flags.goodput, "--goodput"),
    errorRateMax: parseShare(flags.maxErrorRate, "--max-error-rate"),
    concurrencyMax: optional(flags.concurrency, (text) =>
      parseCount(text, "--concurrency", 1, 20_000),
    ),
    connectionsMax: optional(flags.connections, (text) =>
      parseCount(text, "--connections", 1, 20_000),
    ),
    timeoutUs: aboveZero(parseDurationUs(flags.timeout, "--timeout"), "--timeout"),
    seed: parseSeed(flags.seed),
    nonce: optional(flags.nonce, parseNonce),
    warm: parseCount(flags.warm ?? "0", "--warm", 0, 20_000),
    headers: Object.fromEntries(flags.header.map(parseHeader)),
  };
}

function generatedPlan(flags: LoadFlags): GeneratedPlan {
  refuse(flags, ["speed", "limit", "from"], "--trace");
  const name = flags.arrivals ?? "poisson";
  const process = PROCESSES.find((one) => one === name);
  if (process === undefined) {
    throw new ManxError("MANX_FLAG_VALUE", {
      where: "--arrivals",
      expected: `one of ${PROCESSES.join(", ")}`,
      got: JSON.stringify(name),
    });
  }
  if (flags.cv !== undefined && process !== "gamma") {
    throw new ManxError("MANX_FLAG_VALUE", {
      where: "--cv",
      expected: "--arrivals gamma beside it",
      got: `--arrivals ${process}`,
    });
  }
  return {
    kind: "generated",
    process,
    ratePerS: parseRatePerS(flags.rate ?? "10/s", "--rate"),
    cv: parseFactor(flags.cv ?? "3", "--cv", 0.01, 100),
    durationUs: aboveZero(parseDurationUs(flags.duration ?? "30s", "--duration"), "--duration"),
    promptTokens: parseCount(flags.promptTokens ?? "500", "--prompt-tokens", 1, 10_000_000),
    outputTokens: parseCount(flags.outputTokens ?? "64", "--output-tokens", 1, 10_000_000),
  };
}

function tracePlan(flags: LoadFlags, path: string): TracePlan {
  refuse(flags, ["rate", "arrivals", "cv", "promptTokens", "outputTokens"], "no --trace");
  return {
    kind: "trace",
    path,
    speed: parseFactor(flags.speed ?? "1", "--speed", 0.001, 1_000_000),
    limit: optional(flags.limit, (text) => parseCount(text, "--limit", 1, 5_000_000)),
    fromUs: parseDurationUs(flags.from ?? "0s", "--from"),
    durationUs: optional(flags.duration, (text) =>
      aboveZero(parseDurationUs(text, "--duration"), "--duration"),
    ),
  };
}

/** Flags that would have no effect are a misunderstanding, and are told as one. */
function refuse(flags: LoadFlags, names: readonly (keyof LoadFlags)[], needs: string): void {
  const name = names.find((one) => flags[one] !== undefined);
  if (name === undefined) return;
  throw new ManxError("MANX_FLAG_VALUE", {
    what: "a flag that has no effect here",
    where: `--${name.replace(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`)}`,
    expected: `${needs} beside it`,
  });
}

function optional<Value>(
  text: string | undefined,
  parse: (text: string) => Value,
): Value | undefined {
  return text === undefined ? undefined : parse(text);
}

function aboveZero(valueUs: number, where: string): number {
  if (valueUs > 0) return valueUs;
  throw new ManxError("MANX_DURATION", { where, expected: "a duration above zero", got: "0" });
}

/** `1%`, `99.5 %` or `0.01`. */
function parseShare(text: string, where: string): number {
  const match = /^(\d+(?:\.\d+)?|\.\d+)\s*(%?)$/.exec(text.trim());
  const share = match === null ? Number.NaN : Number(match[1]) / (match[2] === "%" ? 100 : 1);
  if (share >= 0 && share <= 1) return share;
  throw new ManxError("MANX_FLAG_VALUE", {
    where,
    expected: 'a share from 0 to 1, such as "1%" or "0.01"',
    got: JSON.stringify(text),
  });
}

function parseNonce(text: string): string {
  if (/^[A-Za-z0-9]{1,64}$/.test(text)) return text;
  throw new ManxError("MANX_FLAG_VALUE", {
    where: "--nonce",
    expected: "1 to 64 letters and digits",
    got: JSON.stringify(text.slice(0, 80)),
  });
}

/** The value may be a secret, so an error shows the name at most. */
function parseHeader(text: string): [string, string] {
  const match = /^([!#$%&'*+.^_`|~0-9A-Za-z-]+):[ \t]*([\t\x20-\x7e\x80-\xff]*)$/.exec(text);
  if (match !== null) return [match[1]!.toLowerCase(), match[2]!.trim()];
  throw new ManxError("MANX_FLAG_VALUE", {
    where: "--header",
    expected: '"name: value"',
    got: /^[\w-]+/.exec(text)?.[0] ?? "no name",
  });
}
