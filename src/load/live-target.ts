/**
 * The server under test, over real sockets. Nothing is tried twice: a retry would hide a failure and make its time
 * another request's.
 */
import type { Dispatcher } from "undici";
import type { Clock } from "../clock/index.ts";
import { ManxError } from "../core/index.ts";
import { LiveConnections } from "./live-connections.ts";
import { LiveExchange } from "./live-exchange.ts";
import { PromptText } from "./prompt-text.ts";
import {
  type ApiName,
  type BodyOptions,
  type LoadApi,
  loadApi,
  REQUEST_ID_HEADER,
} from "./request-body.ts";
import type { Job, Outcome, Target } from "./target.ts";

export interface LiveTargetOptions extends Partial<BodyOptions> {
  /** Base URL, `http://127.0.0.1:8000`, with or without the API's `/v1`. */
  readonly url: string;
  readonly clock: Clock;
  readonly api?: ApiName;
  readonly model: string;
  /** Makes the prompts of this run unlike those of any other; letters and digits. */
  readonly nonce: string;
  readonly seed: number;
  /** Sent as the API's own header; never printed. */
  readonly apiKey?: string;
  /** Further headers, names in lower case. */
  readonly headers?: Readonly<Record<string, string>>;
  /** From the moment that a request is given to the target to its last byte. Default 60 s. */
  readonly timeoutUs?: number;
  /** A new connection for each request. Default false. */
  readonly cold?: boolean;
  /** Most connections at once. Default: no limit. */
  readonly connectionsMax?: number;
}

const TIMEOUT_US = 60_000_000;

export class LiveTarget implements Target {
  readonly #api: LoadApi;
  readonly #clock: Clock;
  readonly #path: string;
  readonly #headers: Readonly<Record<string, string>>;
  readonly #connections: LiveConnections;
  readonly #prompts: PromptText;
  readonly #nonce: string;
  readonly #body: BodyOptions;
  readonly #timeoutUs: number;

  /** @throws MANX_URL, MANX_NAME_UNKNOWN */
  constructor(options: LiveTargetOptions) {
    const { clock, url, model, stream = true, exactOutput = false, cold = false } = options;
    const base = parseBaseUrl(url);
    this.#api = loadApi(options.api ?? "openai");
    this.#clock = clock;
    const prefix = base.pathname.replace(/\/+$/, "");
    this.#path = prefix.endsWith("/v1")
      ? prefix + this.#api.path.slice(3)
      : prefix + this.#api.path;
    this.#headers = {
      "content-type": "application/json",
      accept: stream ? "text/event-stream" : "application/json",
      "user-agent": "manx-load",
      ...(cold && { connection: "close" }),
      ...this.#api.headers(options.apiKey),
      ...options.headers,
    };
    this.#body = { model, stream, exactOutput };
    this.#nonce = options.nonce;
    this.#prompts = new PromptText(options.nonce, options.seed);
    this.#timeoutUs = options.timeoutUs ?? TIMEOUT_US;
    const { connectionsMax } = options;
    this.#connections = new LiveConnections({
      origin: new URL(base.origin),
      clock,
      cold,
      ...(connectionsMax !== undefined && { connectionsMax }),
    });
  }

  send(job: Job, done: (outcome: Outcome) => void): void {
    const prompt = this.#prompts.prompt(job.request, job.index);
    const request: Dispatcher.DispatchOptions = {
      method: "POST",
      path: this.#path,
      headers: { ...this.#headers, [REQUEST_ID_HEADER]: `${this.#nonce}-${job.index}` },
      body: Buffer.from(this.#api.body(job, prompt, this.#body)),
    };
    new LiveExchange({
      clock: this.#clock,
      connections: this.#connections,
      job,
      request,
      format: this.#body.stream ? this.#api.format : null,
      timeoutUs: this.#timeoutUs,
      done,
    }).start();
  }

  /** Opens connections ahead of the run. @returns how many are open. */
  warm(count: number): Promise<number> {
    return this.#connections.warm(count);
  }

  /** @throws MANX_TARGET_DOWN if no connection can be opened. */
  async check(): Promise<void> {
    const failed = await new Promise<Error | null>((resolve) => {
      const cancel = this.#clock.at(this.#clock.nowUs() + 10_000_000, () => {
        giveUp();
        resolve(new Error("no connection within 10 s"));
      });
      const giveUp = this.#connections.acquire((lease) => {
        cancel();
        if (lease instanceof Error) {
          resolve(lease);
          return;
        }
        lease.connection.close();
        resolve(null);
      });
    });
    if (failed === null) return;
    throw new ManxError("MANX_TARGET_DOWN", { got: failed.message, cause: failed });
  }

  /** Cuts what is open, at the end of a run or after an interrupt. */
  close(): void {
    this.#connections.close();
  }
}

/** @throws MANX_URL; its text leaves out whatever may be a secret. */
export function parseBaseUrl(text: string): URL {
  const url = URL.canParse(text) ? new URL(text) : undefined;
  const isHttp = url?.protocol === "http:" || url?.protocol === "https:";
  const isPlain = url !== undefined && url.username + url.password + url.search + url.hash === "";
  if (isHttp && isPlain) return url;
  throw new ManxError("MANX_URL", {
    where: "--url",
    expected: "http:// or https:// with a host, and no user name, password or query",
    ...((isPlain || url === undefined) && { got: JSON.stringify(text.slice(0, 200)) }),
  });
}
