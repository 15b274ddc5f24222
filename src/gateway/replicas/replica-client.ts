/**
 * Asks one replica for its metrics and its health, on a connection of its own: a probe must not wait for a free one among
 * those that carry requests. Bounded in time and bytes; never throws.
 */
import { Client } from "undici";
import type { Clock } from "../../clock/index.ts";
import { causeName } from "../upstream-fault.ts";

export interface ReplicaClientOptions {
  readonly origin: URL;
  readonly clock: Clock;
  /** For one answer, its connection included. */
  readonly timeoutUs: number;
  /** Of one answer. */
  readonly bytesMax: number;
}

export interface Fetched {
  /** 0 if there was no answer. */
  readonly status: number;
  readonly text: string;
  /** Why there was no whole answer: the code of an error, "timeout" or "too large". */
  readonly fault: string | undefined;
}

export class ReplicaClient {
  readonly #options: ReplicaClientOptions;
  readonly #client: Client;

  constructor(options: ReplicaClientOptions) {
    this.#options = options;
    // undici's own limits are off: the deadline below holds for the whole.
    this.#client = new Client(options.origin, {
      connect: { timeout: Math.ceil(options.timeoutUs / 1_000) },
      headersTimeout: 0,
      bodyTimeout: 0,
    });
  }

  async get(path: string): Promise<Fetched> {
    const { clock, timeoutUs } = this.#options;
    const { signal, cancel } = clock.deadline(clock.nowUs() + timeoutUs);
    let status = 0;
    try {
      const answer = await this.#client.request({ path, method: "GET", signal });
      status = answer.statusCode;
      const chunks: Buffer[] = [];
      let bytes = 0;
      for await (const chunk of answer.body as AsyncIterable<Buffer>) {
        bytes += chunk.length;
        // Leaving the loop destroys the body and with it the connection.
        if (bytes > this.#options.bytesMax) return { status, text: "", fault: "too large" };
        chunks.push(chunk);
      }
      return { status, text: Buffer.concat(chunks).toString("utf8"), fault: undefined };
    } catch (thrown) {
      const fault = signal.aborted ? "timeout" : causeName(thrown as Error);
      return { status, text: "", fault };
    } finally {
      cancel();
    }
  }

  /** Cuts what is under way. */
  async close(): Promise<void> {
    await this.#client.destroy();
  }
}
