/** The flags of `manx gateway` and where each one's value stands in the configuration, over file and variables. */
import type { Command } from "commander";
import type { GivenValue } from "../config/index.ts";
import { ManxError, parseDurationUs, parseSizeBytes } from "../core/index.ts";
import { parseCount } from "./flag-values.ts";

export interface GatewayFlags {
  readonly config?: string;
  readonly upstream?: string;
  readonly format?: string;
  readonly host?: string;
  readonly port?: string;
  readonly workers?: string;
  readonly preconnect?: string;
  readonly rehearsal?: string;
  readonly idle?: string;
  readonly deadline?: string;
  readonly timeoutConnect?: string;
  readonly timeoutHeaders?: string;
  readonly timeoutFirstContent?: string;
  readonly timeoutGap?: string;
  readonly timeoutWrite?: string;
  readonly attempts?: string;
  readonly hedge?: true;
  readonly lanes?: true;
  readonly accessLog?: string;
  readonly drain?: string;
  readonly bodyLimit?: string;
  readonly connections?: string;
  readonly verbose?: true;
  readonly json?: true;
}

export function addGatewayFlags(command: Command): Command {
  return (
    command
      .option("--config <file>", "configuration file, such as manx.config.jsonc")
      // Checked below and not by commander, which would not look at a misspelt flag any more.
      .option("--upstream <url>", "instead of a file: where all requests go")
      .option(
        "--format <name>",
        "what it speaks: openai or anthropic, and calls in the other one are translated; any = as they come (default: any)",
      )
      .option("--host <address>", "address to listen on (default: 127.0.0.1)")
      .option("--port <number>", "port to listen on; 0 takes any free one (default: 4000)")
      .option("--workers <count>", "processes that share the port (default: 1)")
      .option("--preconnect <count>", "upstream connections kept open (default: 4)")
      .option("--rehearsal <count>", "calls to itself before it listens; 0 = none (default: 3000)")
      .option("--idle <duration>", "how long an unused upstream connection is kept (default: 2m)")
      .option("--deadline <duration>", "limit for a call with all its attempts (default: none)")
      .option("--timeout-connect <duration>", "limit to connect; 0s = none (default: 10s)")
      .option("--timeout-headers <duration>", "limit to the first byte (default: 10m)")
      .option("--timeout-first-content <duration>", "limit to the first output (default: 3m)")
      .option("--timeout-gap <duration>", "limit of silence within an answer (default: 2m)")
      .option("--timeout-write <duration>", "limit for a client that does not read (default: 2m)")
      .option("--attempts <count>", "attempts of a call in all; 1 = no retry (default: 3)")
      .option("--hedge", "a second attempt beside one that is late to its first content")
      .option("--lanes", "short requests do not wait behind long ones; limits what is in flight")
      .option("--access-log <where>", "off, stdout or a file (default: off)")
      .option("--drain <duration>", "how long open requests may go on after Ctrl-C (default: 30s)")
      .option("--body-limit <size>", "largest request body (default: 32MiB)")
      .option("--connections <count>", "most requests in flight (default: 2048)")
      .option("--verbose", "print every limit in effect")
      .option("--json", "print one JSON object when ready")
  );
}

interface FlagRule {
  readonly flag: string;
  readonly path: GivenValue["path"];
  /** @returns the value as the configuration has it. @throws if the text is none */
  readonly read: (text: string) => unknown;
}

const DEFAULT_POLICY = ["policies", "default"] as const;

function rules(): Partial<Record<keyof GatewayFlags, FlagRule>> {
  const count = (
    flag: string,
    path: GivenValue["path"],
    least: number,
    most: number,
  ): FlagRule => ({
    flag,
    path,
    read: (text) => parseCount(text, flag, least, most),
  });
  const time = (flag: string, ...path: GivenValue["path"]): FlagRule => ({
    flag,
    path,
    read: (text) => {
      parseDurationUs(text, flag);
      return text;
    },
  });
  const text = (flag: string, ...path: GivenValue["path"]): FlagRule => ({
    flag,
    path,
    read: (given) => given,
  });
  return {
    host: text("--host", "listen", "host"),
    port: count("--port", ["listen", "port"], 0, 65_535),
    workers: count("--workers", ["listen", "workers"], 1, 256),
    rehearsal: count("--rehearsal", ["listen", "rehearsal"], 0, 100_000),
    deadline: time("--deadline", ...DEFAULT_POLICY, "deadline"),
    timeoutConnect: time("--timeout-connect", ...DEFAULT_POLICY, "timeouts", "connect"),
    timeoutHeaders: time("--timeout-headers", ...DEFAULT_POLICY, "timeouts", "headers"),
    timeoutFirstContent: time(
      "--timeout-first-content",
      ...DEFAULT_POLICY,
      "timeouts",
      "firstContent",
    ),
    timeoutWrite: time("--timeout-write", "limits", "write"),
    attempts: count("--attempts", [...DEFAULT_POLICY, "retry", "attempts"], 1, 10),
    accessLog: text("--access-log", "log", "access"),
    drain: time("--drain", "limits", "drain"),
    bodyLimit: {
      flag: "--body-limit",
      path: ["limits", "body"],
      read: (given) => {
        parseSizeBytes(given, "--body-limit");
        return given;
      },
    },
    connections: count("--connections", ["limits", "requests"], 1, 65_535),
  };
}

/** Only for the upstream that `--upstream` names: a file says these for each of its own. */
const OF_THE_UPSTREAM = { format: "--format", preconnect: "--preconnect", idle: "--idle" } as const;

/**
 * @returns what was given, by its place in the configuration.
 * @throws MANX_FLAG_MISSING, MANX_FLAG_VALUE, MANX_DURATION
 */
export function readGatewayFlags(flags: GatewayFlags): GivenValue[] {
  checkSource(flags);
  const given: GivenValue[] = [];
  for (const [key, rule] of Object.entries(rules())) {
    const text = flags[key as keyof GatewayFlags];
    if (typeof text !== "string") continue;
    given.push({ path: rule.path, value: rule.read(text), name: rule.flag });
  }
  if (flags.timeoutGap !== undefined) given.push(...gapValues(flags.timeoutGap));
  if (flags.hedge === true) {
    given.push({ path: [...DEFAULT_POLICY, "hedge"], value: true, name: "--hedge" });
  }
  if (flags.lanes === true) given.push({ path: ["admission"], value: {}, name: "--lanes" });
  if (flags.upstream !== undefined) given.push(...upstreamValues(flags));
  return given;
}

/** One gap for all phases; a file tells them apart. */
function gapValues(text: string): GivenValue[] {
  parseDurationUs(text, "--timeout-gap");
  return ["lifeGap", "progressGap", "thinkingGap"].map((phase) => {
    return { path: [...DEFAULT_POLICY, "timeouts", phase], value: text, name: "--timeout-gap" };
  });
}

function upstreamValues({ format, preconnect, idle, connections }: GatewayFlags): GivenValue[] {
  const given: GivenValue[] = [];
  const add = (key: string, value: unknown, name: string): void => {
    given.push({ path: ["upstreams", 0, key], value, name });
  };
  if (format !== undefined) add("format", format, "--format");
  if (preconnect !== undefined) {
    add("preconnect", parseCount(preconnect, "--preconnect", 0, 1_024), "--preconnect");
  }
  if (idle !== undefined) {
    parseDurationUs(idle, "--idle");
    add("idle", idle, "--idle");
  }
  if (connections !== undefined) add("connections", Number(connections), "--connections");
  return given;
}

function checkSource(flags: GatewayFlags): void {
  const { config, upstream } = flags;
  if (config === undefined && upstream === undefined) {
    throw new ManxError("MANX_FLAG_MISSING", {
      where: "--upstream",
      expected: "a URL, or --config with a file",
    });
  }
  if (config === undefined) return;
  if (upstream !== undefined) {
    throw new ManxError("MANX_FLAG_VALUE", {
      where: "--upstream",
      expected: "either a URL or --config",
      got: "both",
    });
  }
  for (const [key, flag] of Object.entries(OF_THE_UPSTREAM)) {
    if (flags[key as keyof typeof OF_THE_UPSTREAM] === undefined) continue;
    throw new ManxError("MANX_FLAG_VALUE", {
      where: flag,
      expected: "the value in the file, for each upstream",
      got: "the flag beside --config",
    });
  }
}
