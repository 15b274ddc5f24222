/**
 * A model of this gateway's own as the judge, asked like any caller's: with its targets, retries and breakers, but past
 * keys and lanes, since it works on behalf of a call that has passed both. It answers with a word.
 */
import type { Cancel, Clock } from "../../clock/index.ts";
import { JUDGE_FORM, readJudgement, type Verdict } from "../../policy/index.ts";
import { CallIntent } from "../call-intent.ts";
import { CallRun } from "../call-run.ts";
import type { CallRunEvents } from "../call-run-events.ts";
import type { ModelRoutes } from "../model-routes.ts";
import { findRoute } from "../routes.ts";
import type { CheckCaller, Checker } from "./checker.ts";

export interface ModelCheckerOptions {
  readonly model: string;
  readonly instruction: string;
  readonly routes: ModelRoutes;
  readonly clock: Clock;
  readonly via: string;
}

const PATH = "/v1/chat/completions";
/** One word, and some for those that think before it. */
const TOKENS_MAX = 256;
/** More than a judge reads within any budget. */
const TEXT_CHARS_MAX = 200_000;
const ANSWER_BYTES_MAX = 256 * 1024;

export class ModelChecker implements Checker {
  readonly #options: ModelCheckerOptions;

  constructor(options: ModelCheckerOptions) {
    this.#options = options;
  }

  check(text: string, caller: CheckCaller, done: (verdict: Verdict) => void): Cancel {
    if (text.length > TEXT_CHARS_MAX) {
      done("failed");
      return ignore;
    }
    let run: CallRun | undefined;
    try {
      run = this.#start(text, caller, done);
    } catch {
      done("failed");
    }
    return () => run?.abandon();
  }

  #start(text: string, caller: CheckCaller, done: (verdict: Verdict) => void): CallRun {
    const { model, instruction, routes, clock, via } = this.#options;
    const body = Buffer.from(
      JSON.stringify({
        model,
        max_completion_tokens: TOKENS_MAX,
        messages: [
          { role: "system", content: `${instruction}\n\n${JUDGE_FORM}` },
          { role: "user", content: text },
        ],
      }),
    );
    const receivedUs = clock.nowUs();
    const intent = new CallIntent(
      findRoute("POST", PATH),
      {
        target: PATH,
        rawHeaders: ["content-type", "application/json", ...caller.credentials],
        headers: namedHeaders(caller.credentials),
        body,
      },
      { routes, via, receivedUs, wallMs: clock.wallMs(), hidesKey: caller.hidesKey },
    );
    const from = { readyUs: receivedUs, identity: null, attempts: null };
    const options = { intent, clock, ...from, waits: { queuedUs: 0, heldUs: 0 } };
    const run = new CallRun(options, new Judgement(done));
    run.start();
    return run;
  }
}

/** Gathers the answer of one check. */
class Judgement implements CallRunEvents {
  readonly #done: (verdict: Verdict) => void;
  readonly #parts: Buffer[] = [];
  #bytes = 0;

  constructor(done: (verdict: Verdict) => void) {
    this.#done = done;
  }

  onSent(): void {}
  onFirstHead(): void {}
  onContent(): void {}
  onFirstOutput(): void {}
  onHead(): void {}

  onBytes(chunk: Buffer): void {
    this.#bytes += chunk.length;
    if (this.#bytes <= ANSWER_BYTES_MAX) this.#parts.push(chunk);
  }

  onEnd(_ending: unknown, last: Buffer | undefined): void {
    if (last !== undefined) this.onBytes(last);
    this.#done(readAnswer(Buffer.concat(this.#parts).toString("utf8")));
  }

  onFailure(): void {
    this.#done("failed");
  }
}

interface ChatAnswer {
  readonly choices?: readonly { readonly message?: { readonly content?: unknown } }[];
}

function readAnswer(answer: string): Verdict {
  try {
    return readJudgement((JSON.parse(answer) as ChatAnswer | null)?.choices?.[0]?.message?.content);
  } catch {
    return "failed";
  }
}

function namedHeaders(raw: readonly string[]): Record<string, string> {
  const named: Record<string, string> = {};
  for (let i = 0; i < raw.length; i += 2) named[raw[i]!.toLowerCase()] = raw[i + 1]!;
  return named;
}

function ignore(): void {}
