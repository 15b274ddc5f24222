/**
 * A classifier over HTTP: `POST {"input": text}`, answered by its verdict in one of the forms that `readVerdict` knows.
 */
import { Pool } from "undici";
import type { Cancel } from "../../clock/index.ts";
import type { Secret } from "../../config/index.ts";
import { type GuardStage, readVerdict, type Verdict } from "../../policy/index.ts";
import type { CheckCaller, Checker } from "./checker.ts";

export interface HttpCheckerOptions {
  readonly url: URL;
  /** Sent as a bearer token. */
  readonly key: Secret | null;
  readonly stage: GuardStage;
}

/** Checks at a time; more wait within their budgets. */
const CONNECTIONS = 64;
/** Between two checks of a quiet hour: a handshake would cost as much as the check. */
const IDLE_MS = 120_000;
const ANSWER_BYTES_MAX = 64 * 1024;
/** A longer text is none that a classifier would read. */
const TEXT_CHARS_MAX = 1024 * 1024;

export class HttpChecker implements Checker {
  readonly #pool: Pool;
  readonly #path: string;
  readonly #headers: Record<string, string>;

  /** @throws MANX_SECRET_MISSING */
  constructor({ url, key, stage }: HttpCheckerOptions) {
    this.#pool = new Pool(url.origin, {
      connections: CONNECTIONS,
      keepAliveTimeout: IDLE_MS,
      // How long a check may take is the guard's business.
      headersTimeout: 0,
      bodyTimeout: 0,
    });
    this.#path = url.pathname + url.search;
    this.#headers = {
      "content-type": "application/json",
      "x-manx-guard-stage": stage,
      ...(key !== null && { authorization: `Bearer ${key.reveal()}` }),
    };
  }

  check(text: string, _caller: CheckCaller, done: (verdict: Verdict) => void): Cancel {
    if (text.length > TEXT_CHARS_MAX) {
      done("failed");
      return ignore;
    }
    const giveUp = new AbortController();
    const body = JSON.stringify({ input: text });
    this.#ask(body, giveUp.signal)
      .catch((thrown: unknown) => {
        // A connection that was kept may have been closed in the same moment: once more, on another.
        if (giveUp.signal.aborted || !isDeadSocket(thrown)) throw thrown;
        return this.#ask(body, giveUp.signal);
      })
      .then(done, () => {
        if (!giveUp.signal.aborted) done("failed");
      });
    return () => giveUp.abort();
  }

  close(): Promise<void> {
    return this.#pool.destroy();
  }

  async #ask(body: string, signal: AbortSignal): Promise<Verdict> {
    const answer = await this.#pool.request({
      method: "POST",
      path: this.#path,
      headers: this.#headers,
      body,
      signal,
    });
    const parts: Buffer[] = [];
    let bytes = 0;
    for await (const part of answer.body as AsyncIterable<Buffer>) {
      bytes += part.length;
      // Leaving the loop closes the connection.
      if (bytes > ANSWER_BYTES_MAX) return "failed";
      parts.push(part);
    }
    return answer.statusCode === 200
      ? readVerdict(Buffer.concat(parts).toString("utf8"))
      : "failed";
  }
}

const DEAD_SOCKET = new Set(["UND_ERR_SOCKET", "ECONNRESET", "EPIPE"]);

function isDeadSocket(thrown: unknown): boolean {
  return DEAD_SOCKET.has((thrown as NodeJS.ErrnoException | null)?.code ?? "");
}

function ignore(): void {}
