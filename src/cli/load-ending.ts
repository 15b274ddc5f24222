/** How a `manx load` run ends: the command that repeats it, the one to try next, and the exit code. */
import { ManxError } from "../core/index.ts";
import type { ResultDocument, ResultRun } from "../load/index.ts";
import type { LoadFlags, LoadPlan } from "./load-flags.ts";

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
export function commandText(flags: LoadFlags, model: string): string {
  const words = ["manx", "load"];
  for (const [name, value] of Object.entries({ url: flags.url, ...flags, model })) {
    if (UNTOLD.includes(name) || DEFAULTS[name] === value) continue;
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

export function nextCommand(flags: LoadFlags, plan: LoadPlan, run: ResultRun): string {
  const base = `manx load --url ${quoted(plan.url)}`;
  const isLimited = run.verdicts.some(
    ({ name, status }) => name === "client" && status === "unknown",
  );
  if (isLimited && flags.concurrency !== undefined) return `${base} (without --concurrency)`;
  if (run.counts.failed > 0 && plan.workload.kind === "generated") {
    return `${base} --rate ${Number((plan.workload.ratePerS / 2).toPrecision(3))}/s`;
  }
  if (flags.cold !== true) return `${base} --cold`;
  return `${base} --slo ttft=500ms,itl=50ms`;
}

/** The result is out by now; this only sets the exit code, and says why. */
export function throwVerdict(document: ResultDocument): void {
  if (document.status === "partial") throw new ManxError("MANX_INTERRUPTED");
  const verdicts = document.runs.flatMap((run) => run.verdicts);
  const unknown = verdicts.filter(({ status }) => status === "unknown");
  if (unknown.length > 0) {
    throw new ManxError("MANX_NOT_TRUSTWORTHY", {
      got: unknown.map(({ text }) => text).join("; "),
    });
  }
  const failed = verdicts.filter(({ status }) => status === "fail");
  if (failed.length > 0) {
    throw new ManxError("MANX_BUDGET_BREACHED", { got: failed.map(({ text }) => text).join("; ") });
  }
}
