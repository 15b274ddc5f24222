/**
 * Keeps a number of workers running: starts them, restarts those that end unasked, replaces them one by one, tells all of
 * them the same, and lets them go. It serves no request and reads none; what the workers hold dies with them only if they
 * die themselves.
 *
 *     starting ── "serving" ──► serving ── leave ──► leaving ──► gone
 *         └──────── ends ──────────┴── ends unasked: back-off ──► starting (another one)
 *
 * Invariant: as long as it runs there are as many places as workers wanted, each with a worker or with a time for its next.
 */
import type { Cancel, Clock } from "../../clock/index.ts";
import { ManxError, US_PER_MS, US_PER_S } from "../../core/index.ts";
import { Member, type MemberStatus } from "./member.ts";
import { errorFrom } from "./plain-error.ts";
import type { WorkerProcess } from "./worker-process.ts";

/** Pause before a worker that has ended is started again: doubled for each that ends soon, and from the first to the last. */
const BACKOFF_US = { first: 100 * US_PER_MS, last: 10 * US_PER_S } as const;
/** One that has served this long did not end because of how it started. */
const STEADY_US = 60 * US_PER_S;
/** What a start may take, with slow name servers and connections that are opened ahead. */
const START_US = 60 * US_PER_S;
/** Beyond what workers themselves wait for open requests. */
const LAST_WAIT_US = 5 * US_PER_S;

export interface CrewOptions {
  readonly clock: Clock;
  readonly workers: number;
  readonly fork: () => WorkerProcess;
  /** Sets up the questions that a new worker may ask. */
  readonly onStart: (member: Member) => void;
  readonly onNotice: (notice: ManxError) => void;
  /** Somebody has come, gone or changed state. */
  readonly onChange: () => void;
}

/** Where a worker is or will be. */
interface Place {
  member: Member | undefined;
  failures: number;
  cancelRestart: Cancel | undefined;
}

export interface Gathered {
  readonly answers: readonly { readonly worker: number; readonly value: unknown }[];
  /** Workers that did not answer in time, or with an error. */
  readonly missing: readonly { readonly worker: number; readonly error: ManxError }[];
}

export class Crew {
  readonly #options: CrewOptions;
  readonly #places: Place[];
  /** All whose processes run, those included that were replaced and still have requests. */
  readonly #members = new Set<Member>();
  #started = 0;
  #restarts = 0;
  #hasStarted = false;
  #isLeaving = false;
  #isRenewing = false;

  constructor(options: CrewOptions) {
    this.#options = options;
    this.#places = Array.from({ length: options.workers }, () => {
      return { member: undefined, failures: 0, cancelRestart: undefined };
    });
  }

  /** As many as there should be. */
  get workers(): number {
    return this.#places.length;
  }

  get statuses(): MemberStatus[] {
    return [...this.#members].map(({ status }) => status);
  }

  /** Of workers that ended unasked, since the start. */
  get restarts(): number {
    return this.#restarts;
  }

  /**
   * Starts one, to see whether it can, and then the others.
   * @returns what the first said when it began to serve.
   * @throws why it could not; then there are no others.
   */
  async start(): Promise<unknown> {
    const [first, ...rest] = this.#places as [Place, ...Place[]];
    const member = this.#fill(first);
    const said = await member.ready;
    if (said === undefined) {
      throw member.failure ?? new ManxError("MANX_WORKER", { what: "no worker could be started" });
    }
    this.#hasStarted = true;
    await Promise.all(rest.map((place) => this.#fill(place).ready));
    return said;
  }

  /** Asks all that serve, at once. Never rejects. */
  async gather(name: string, value: unknown, timeoutUs: number): Promise<Gathered> {
    const answers: { worker: number; value: unknown }[] = [];
    const missing: { worker: number; error: ManxError }[] = [];
    const asked = [...this.#members].filter(
      ({ state }) => state === "serving" || state === "leaving",
    );
    await Promise.all(
      asked.map(({ number: worker, link }) =>
        link.ask(name, value, timeoutUs).then(
          (answer) => answers.push({ worker, value: answer }),
          (error: ManxError) => missing.push({ worker, error }),
        ),
      ),
    );
    answers.sort((a, b) => a.worker - b.worker);
    return { answers, missing };
  }

  /** @param except a worker that knows already. */
  tellAll(name: string, value: unknown, except?: Member): void {
    for (const member of this.#members) {
      if (member !== except && member.state !== "gone") member.link.tell(name, value);
    }
  }

  /**
   * Replaces each worker by a new one that serves before the old one leaves. Stops at the first that cannot start: the old
   * ones then go on. @returns how many were replaced; undefined if it is already at it, or leaving.
   */
  async renew(): Promise<number | undefined> {
    if (this.#isRenewing || this.#isLeaving || !this.#hasStarted) return undefined;
    this.#isRenewing = true;
    let renewed = 0;
    try {
      for (const place of this.#places) {
        const old = place.member;
        if (old === undefined || this.#isLeaving) continue;
        const fresh = this.#fork();
        if ((await fresh.ready) === undefined) break;
        // The old one may have crashed meanwhile, and have got a successor.
        place.cancelRestart?.();
        const current = place.member;
        place.member = fresh;
        current?.leave();
        renewed += 1;
        this.#options.onChange();
      }
    } finally {
      this.#isRenewing = false;
    }
    return renewed;
  }

  /**
   * All take no new work and end once their open requests have.
   * @param withinUs what they may take; those that still run then are killed.
   */
  async leave(withinUs: number): Promise<void> {
    const { clock } = this.#options;
    this.#isLeaving = true;
    for (const place of this.#places) place.cancelRestart?.();
    for (const member of this.#members) member.leave();
    this.#options.onChange();
    const cancel = clock.at(clock.nowUs() + withinUs + LAST_WAIT_US, () => this.#kill());
    await Promise.all([...this.#members].map(({ gone }) => gone));
    cancel();
  }

  /** Whoever is leaving waits for nothing more. */
  cut(): void {
    for (const member of this.#members) member.cut();
    const { clock } = this.#options;
    const cancel = clock.at(clock.nowUs() + LAST_WAIT_US, () => this.#kill());
    void Promise.all([...this.#members].map(({ gone }) => gone)).then(cancel);
  }

  #kill(): void {
    for (const member of this.#members) member.kill();
  }

  #fill(place: Place): Member {
    const member = this.#fork();
    place.member = member;
    return member;
  }

  #fork(): Member {
    const { clock, fork, onStart, onChange } = this.#options;
    this.#started += 1;
    const process = fork();
    const member = new Member(this.#started, process, clock);
    this.#members.add(member);
    member.link.on("serving", (value) => {
      member.serves(value);
      if (this.#isLeaving) member.leave();
      onChange();
    });
    member.link.on("failed", (value) => {
      member.failure = errorFrom(value);
    });
    process.onExit((code, signal) => this.#onExit(member, code, signal));
    const cancel = clock.at(clock.nowUs() + START_US, () => member.kill());
    void member.ready.then(cancel);
    onStart(member);
    onChange();
    return member;
  }

  #onExit(member: Member, code: number | null, signal: string | null): void {
    const { onChange, onNotice, clock } = this.#options;
    const wasAsked = member.state === "leaving";
    member.hasGone();
    this.#members.delete(member);
    const place = this.#placeOf(member);
    if (place !== undefined && this.#hasStarted) {
      place.member = undefined;
      const lifeUs = clock.nowUs() - member.startedUs;
      place.failures = lifeUs > STEADY_US ? 1 : place.failures + 1;
      const waitUs = this.#restartLater(place);
      if (!wasAsked && waitUs !== undefined) onNotice(endedError(member, code ?? signal, waitUs));
    }
    onChange();
  }

  /** @returns when, in µs from now; undefined if it is not wanted any more. */
  #restartLater(place: Place): number | undefined {
    if (this.#isLeaving) return undefined;
    const { clock } = this.#options;
    const waitUs = Math.min(
      BACKOFF_US.first * 2 ** Math.min(place.failures - 1, 20),
      BACKOFF_US.last,
    );
    place.cancelRestart = clock.at(clock.nowUs() + waitUs, () => {
      this.#restarts += 1;
      this.#fill(place);
    });
    return waitUs;
  }

  #placeOf(member: Member): Place | undefined {
    return this.#places.find((place) => place.member === member);
  }
}

function endedError(member: Member, how: number | string | null, waitUs: number): ManxError {
  const { status, failure } = member;
  const again = `it is started again in ${waitUs / US_PER_MS} ms`;
  return new ManxError("MANX_WORKER", {
    what: failure === undefined ? "a worker has ended, with its requests" : "a worker cannot start",
    where: `worker ${status.worker}, process ${status.pid}`,
    got:
      failure !== undefined
        ? `${failure.code}: ${failure.what}${failure.where === undefined ? "" : ` (${failure.where})`}`
        : typeof how === "number"
          ? `exit code ${how}`
          : (how ?? "no reason"),
    hint: `the others go on; ${again}`,
  });
}
