/** How a `manx load` run ends: the command that repeats it, the one to try next, and the exit code. */
import { ManxError } from "../core/index.ts";
import type { ResultDocument, ResultRun } from "../load/index.ts";
import type { LoadFlags, LoadPlan } from "./load-flags.ts";

/** Flags of which some are taken away. */
type Changed = { readonly [Name in keyof LoadFlags]?: LoadFlags[Name] | undefined };

/** What a flag is worth when it is not given; not worth repeating. */
const DEFAULTS: Readonly<Record<string, unknown>> = {
  api: "openai",
  goodput: "99%",
  maxErrorRate: "1%",
  timeout: "60s",
};
/** May hold a secret, or say nothing about the load. */
const UNTOLD: readonly string[] = ["header", "output", "json", "calibrate"];

/**
 * The command that repeats the run, with the model that it found by itself. A nonce is left out unless it was given: the
 * same prompts again would meet the server's prefix cache.
 */
export function commandText(flags: Changed, model: string): string {
  const words = ["manx", "load"];
  for (const [name, value] of Object.entries({ url: flags.url, ...flags, model })) {
    if (value === undefined || UNTOLD.includes(name) || DEFAULTS[name] === value) continue;
    const flag = name.replace(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`);
    if (name === "stream") {
      if (value === false) words.push("--no-stream");
    } else if (value === true) {
      words.push(`--${flag}`);
    } else {
      words.push(`--${flag}`, quoted(String(value)));
    }
  }
  return words.join(" ");
}

function quoted(text: string): string {
  return /^[\w./:@%=,+-]+$/.test(text) ? text : `'${text.replaceAll("'", "'\\''")}'`;
}

/** The same run with the one change that its result calls for. */
export function nextCommand(
  flags: LoadFlags,
  { workload }: LoadPlan,
  run: ResultRun,
  model: string,
): string {
  const isLimited = run.verdicts.some(
    ({ name, status }) => name === "client" && status === "unknown",
  );
  if (isLimited && flags.concurrency !== undefined) {
    return commandText({ ...flags, concurrency: undefined }, model);
  }
  if ((isLimited || run.counts.failed > 0) && workload.kind === "generated") {
    const rate = `${Number((workload.ratePerS / 2).toPrecision(3))}/s`;
    return commandText({ ...flags, rate }, model);
  }
  if (flags.slo === undefined && flags.stream) {
    return commandText({ ...flags, slo: "ttft=500ms,itl=50ms" }, model);
  }
  // What set-up costs, or, after a cold run, what it saves.
  const cold = flags.cold === true ? undefined : true;
  return commandText({ ...flags, warm: undefined, cold }, model);
}

/** The result is out by now; this only sets the exit code, and says why. */
export function throwVerdict(document: ResultDocument): void {
  if (document.status === "partial") throw new ManxError("MANX_INTERRUPTED");
  const verdicts = document.runs.flatMap((run) => run.verdicts);
  const unknown = verdicts.filter(({ status }) => status === "unknown");
  if (unknown.length > 0) {
    throw new ManxError("MANX_NOT_TRUSTWORTHY", {
      got: unknown.map(({ text }) => text).join("; "),
      ...(isAllNotFound(document) && {
        hint: "the server has no such path: check --url, and --api against what it speaks",
      }),
    });
  }
  const failed = verdicts.filter(({ status }) => status === "fail");
  if (failed.length > 0) {
    throw new ManxError("MANX_BUDGET_BREACHED", { got: failed.map(({ text }) => text).join("; ") });
  }
}

function isAllNotFound(document: ResultDocument): boolean {
  const { offered = 0, failures = {} } = document.runs[0]?.counts ?? {};
  return offered > 0 && failures["http-404"] === offered;
}
