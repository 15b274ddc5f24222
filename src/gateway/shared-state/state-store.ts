/**
 * The connection to Redis or Valkey as the gateway sees it: a script is answered within its deadline, or not at all.
 * Nothing here throws or waits longer than that: a store that is gone, slow or wrong costs a gateway its common limits,
 * never a request. The client is loaded when it is first needed.
 *
 * After a few failures in a row it is left alone for a moment, so that not every request pays for the deadline.
 */
import type { Redis } from "ioredis";
import type { Cancel, Clock } from "../../clock/index.ts";
import { US_PER_MS, US_PER_S } from "../../core/index.ts";
import { STATE_SCRIPTS, type StateScript } from "./state-scripts.ts";
import type { StateUrl } from "./state-url.ts";

/** Failures in a row after which it is left alone, and for how long. */
const FAILURES_MAX = 3;
const REST_US = US_PER_S;
/** Answers that do not come, in a row, after which the connection is made anew. */
const SILENCES_MAX = 8;
/** Between two tries to connect: doubled from the first to the last. */
const RETRY_MS = { first: 100, last: 2_000 } as const;
const CONNECT_MS = 1_000;

export type Reply = number | string | null | readonly Reply[];

type Commands = Record<string, (...args: (string | number)[]) => Promise<Reply>>;

export interface StateStoreFacts {
  readonly isConnected: boolean;
  /** Asked, answered in time, and answered too late or not at all. */
  readonly asked: number;
  readonly answered: number;
  readonly failed: number;
  /** Not asked at all, since it is away or left alone. */
  readonly skipped: number;
  /** The last failure in words, without anything secret. */
  readonly lastError: string | undefined;
}

export class StateStore {
  readonly #clock: Clock;
  readonly #deadlineUs: number;
  readonly #redis: Redis;
  readonly #facts = { asked: 0, answered: 0, failed: 0, skipped: 0 };
  #lastError: string | undefined;
  #failuresInRow = 0;
  #silences = 0;
  #restUntilUs = Number.NEGATIVE_INFINITY;
  #isClosed = false;
  /** Called whenever it has connected, also again. */
  onReady: (() => void) | undefined;

  /** Begins to connect; does not wait for it. */
  static async open(url: StateUrl, clock: Clock, deadlineUs = 20 * US_PER_MS): Promise<StateStore> {
    const { Redis: Client } = await import("ioredis");
    const redis = new Client({
      host: url.host,
      port: url.port,
      db: url.database,
      ...(url.username !== undefined && { username: url.username }),
      ...(url.password !== undefined && { password: url.password }),
      ...(url.isTls && { tls: { servername: url.host } }),
      // The older protocol is enough for numbers, and every server, proxy and fork speaks it.
      protocol: 2,
      lazyConnect: true,
      connectTimeout: CONNECT_MS,
      enableOfflineQueue: false,
      maxRetriesPerRequest: 0,
      autoResendUnfulfilledCommands: false,
      retryStrategy: (times) => Math.min(RETRY_MS.first * 2 ** Math.min(times, 10), RETRY_MS.last),
    });
    return new StateStore(redis, clock, deadlineUs);
  }

  private constructor(redis: Redis, clock: Clock, deadlineUs: number) {
    this.#redis = redis;
    this.#clock = clock;
    this.#deadlineUs = deadlineUs;
    for (const { name, keys, lua } of STATE_SCRIPTS) {
      redis.defineCommand(name, { lua, ...(keys !== undefined && { numberOfKeys: keys }) });
    }
    redis.on("error", (error: Error) => {
      this.#lastError = plainMessage(error);
    });
    redis.on("ready", () => {
      this.#failuresInRow = 0;
      this.#silences = 0;
      this.#restUntilUs = Number.NEGATIVE_INFINITY;
      this.onReady?.();
    });
    // A failure is also an "error" event; the client goes on trying by itself.
    redis.connect().catch(() => {});
  }

  get facts(): StateStoreFacts {
    return {
      ...this.#facts,
      isConnected: this.#redis.status === "ready",
      lastError: this.#lastError,
    };
  }

  /**
   * Not asked at all while the store is away or left alone.
   *
   * @param onLate told of an answer that came after the deadline: what it granted has to be given back.
   * @returns the answer, or undefined if there is none in time.
   */
  ask(
    script: StateScript,
    keys: readonly string[],
    args: readonly (string | number)[],
    onLate?: (reply: Reply) => void,
  ): Promise<Reply | undefined> {
    if (this.#clock.nowUs() < this.#restUntilUs) {
      this.#facts.skipped += 1;
      return Promise.resolve(undefined);
    }
    return this.#send(script, keys, args, onLate);
  }

  /** The same for what no request waits for: also while the store is left alone, so that it learns of every release. */
  tell(
    script: StateScript,
    keys: readonly string[],
    args: readonly (string | number)[],
  ): Promise<Reply | undefined> {
    return this.#send(script, keys, args);
  }

  close(): void {
    this.#isClosed = true;
    this.#redis.disconnect();
  }

  #send(
    script: StateScript,
    keys: readonly string[],
    args: readonly (string | number)[],
    onLate?: (reply: Reply) => void,
  ): Promise<Reply | undefined> {
    const nowUs = this.#clock.nowUs();
    if (this.#isClosed || this.#redis.status !== "ready") {
      this.#facts.skipped += 1;
      return Promise.resolve(undefined);
    }
    this.#facts.asked += 1;
    const count = script.keys === undefined ? [keys.length] : [];
    const command = (this.#redis as unknown as Commands)[script.name]!;
    const reply = command.call(this.#redis, ...count, ...keys, ...args);
    return new Promise((resolve) => {
      let isOver = false;
      const cancel: Cancel = this.#clock.at(nowUs + this.#deadlineUs, () => {
        isOver = true;
        this.#silent();
        resolve(undefined);
      });
      reply.then(
        (value) => {
          if (isOver) {
            onLate?.(value);
            return;
          }
          cancel();
          this.#facts.answered += 1;
          this.#failuresInRow = 0;
          this.#silences = 0;
          resolve(value);
        },
        (error: Error) => {
          if (isOver) return;
          cancel();
          this.#failed(plainMessage(error));
          resolve(undefined);
        },
      );
    });
  }

  /** A peer that has vanished without a word leaves a connection that looks well. */
  #silent(): void {
    this.#failed("no answer in time");
    this.#silences += 1;
    if (this.#silences < SILENCES_MAX) return;
    this.#silences = 0;
    this.#redis.disconnect(true);
  }

  #failed(why: string): void {
    this.#facts.failed += 1;
    this.#lastError = why;
    this.#failuresInRow += 1;
    // Each further failure is one more rest, not three.
    if (this.#failuresInRow >= FAILURES_MAX) this.#restUntilUs = this.#clock.nowUs() + REST_US;
  }
}

/** Its first line, bounded. A server's own words may quote a command, but never the password. */
function plainMessage(error: Error): string {
  const code = (error as Error & { code?: string }).code;
  return `${code === undefined ? "" : `${code}: `}${error.message.split("\n")[0] ?? ""}`.slice(
    0,
    200,
  );
}
