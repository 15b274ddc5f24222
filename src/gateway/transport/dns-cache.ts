/**
 * Addresses by name, for as long as DNS says that they hold (its TTL), so that a new connection does not wait for a lookup,
 * which in Node takes one of four threads and in a bad minute five seconds. Each answer begins with another address, so
 * that connections spread; one that could not be connected to comes last for a while.
 *
 *     unknown ──► asking ──► fresh ──TTL──► expired ─┬─ asked again: fresh
 *                    └─ failed: the error, briefly   └─ no answer, or none in time: the old one goes on (RFC 8767)
 *
 * The addresses are the system's, which knows the hosts file and the search domains; their TTL is what DNS says of them.
 * An answer that DNS does not know of has UNTOLD_TTL_US.
 *
 * Bounded: HOSTS_MAX names, ADDRESSES_MAX addresses each; callers that wait are as many as connections are being opened.
 */
import type { LookupAddress } from "node:dns";
import type { Cancel, Clock } from "../../clock/index.ts";
import { US_PER_S } from "../../core/index.ts";
import { type NameRecord, type NameService, SystemNames } from "./name-service.ts";

export type Addresses = readonly LookupAddress[];
type Done = (error: Error | null, addresses: Addresses) => void;

const HOSTS_MAX = 1_024;
const ADDRESSES_MAX = 32;
const TTL_US_MIN = US_PER_S;
const TTL_US_MAX = 3_600 * US_PER_S;
const UNTOLD_TTL_US = 30 * US_PER_S;
/** A name that does not exist may be made in the next moment. */
const FAILED_TTL_US = 2 * US_PER_S;
/** How long an answer is used beyond its TTL if nobody gives a new one. */
const STALE_US = 3_600 * US_PER_S;
/** With an old answer at hand, a new one is not waited for longer than this. */
const PATIENCE_US = US_PER_S / 2;
const DEAD_US = 30 * US_PER_S;

interface Entry {
  addresses: Addresses;
  error: Error | null;
  expiresUs: number;
  /** Of `addresses`, without a new answer. */
  staleUs: number;
  turn: number;
  /** When those that could not be connected to may be tried first again. */
  readonly deadUs: Map<string, number>;
  /** undefined while nobody asks. */
  waiting: Set<Done> | undefined;
}

export interface DnsCounts {
  lookups: number;
  hits: number;
  failed: number;
  /** Answers that were older than their TTL. */
  stale: number;
}

export class DnsCache {
  readonly counts: DnsCounts = { lookups: 0, hits: 0, failed: 0, stale: 0 };
  readonly #clock: Clock;
  readonly #names: NameService;
  readonly #entries = new Map<string, Entry>();

  constructor(clock: Clock, names: NameService = new SystemNames()) {
    this.#clock = clock;
    this.#names = names;
  }

  get size(): number {
    return this.#entries.size;
  }

  /**
   * Calls back once: at once if the answer is known, with at least one address or an error.
   * @returns takes the question back.
   */
  resolve(host: string, done: Done): Cancel {
    const entry = this.#entryOf(host);
    const nowUs = this.#clock.nowUs();
    if (nowUs < entry.expiresUs) {
      this.counts.hits += 1;
      this.#answer(entry, done);
      return () => undefined;
    }
    return this.#ask(host, entry, done);
  }

  /** A connection to it could not be made: others first for a while. */
  noteDead(host: string, address: string): void {
    const entry = this.#entries.get(host);
    if (entry === undefined || !entry.addresses.some((one) => one.address === address)) return;
    entry.deadUs.set(address, this.#clock.nowUs() + DEAD_US);
  }

  noteAlive(host: string, address: string): void {
    this.#entries.get(host)?.deadUs.delete(address);
  }

  close(): void {
    this.#names.close();
  }

  #entryOf(host: string): Entry {
    let entry = this.#entries.get(host);
    if (entry === undefined) {
      entry = {
        addresses: [],
        error: null,
        expiresUs: Number.NEGATIVE_INFINITY,
        staleUs: Number.NEGATIVE_INFINITY,
        turn: 0,
        deadUs: new Map(),
        waiting: undefined,
      };
      if (this.#entries.size >= HOSTS_MAX) this.#forgetOldest();
    } else this.#entries.delete(host);
    this.#entries.set(host, entry);
    return entry;
  }

  #forgetOldest(): void {
    for (const [host, { waiting }] of this.#entries) {
      if (waiting !== undefined) continue;
      this.#entries.delete(host);
      return;
    }
  }

  #ask(host: string, entry: Entry, done: Done): Cancel {
    if (entry.waiting === undefined) {
      entry.waiting = new Set();
      void this.#lookUp(host, entry);
    }
    const { waiting } = entry;
    let cancelPatience: Cancel | undefined;
    const answered: Done = (error, addresses) => {
      cancelPatience?.();
      done(error, addresses);
    };
    waiting.add(answered);
    const nowUs = this.#clock.nowUs();
    if (nowUs < entry.staleUs) {
      cancelPatience = this.#clock.at(nowUs + PATIENCE_US, () => {
        if (!waiting.delete(answered)) return;
        this.counts.stale += 1;
        this.#answer(entry, done);
      });
    }
    return () => {
      waiting.delete(answered);
      cancelPatience?.();
    };
  }

  async #lookUp(host: string, entry: Entry): Promise<void> {
    this.counts.lookups += 1;
    // Asked at the same time, and not waited for: it tells how long the answer holds, not what it is.
    const records = this.#names.records(host);
    try {
      const addresses = await this.#names.lookup(host);
      if (addresses.length === 0) throw new Error(`no address for ${host}`);
      this.#learn(entry, addresses.slice(0, ADDRESSES_MAX), records);
    } catch (thrown) {
      this.#failed(entry, thrown as Error);
    }
    const { waiting } = entry;
    entry.waiting = undefined;
    for (const done of waiting ?? []) this.#answer(entry, done);
  }

  #learn(entry: Entry, addresses: Addresses, records: Promise<readonly NameRecord[]>): void {
    const nowUs = this.#clock.nowUs();
    entry.addresses = addresses;
    entry.error = null;
    const holds = (ttlUs: number): void => {
      entry.expiresUs = nowUs + ttlUs;
      entry.staleUs = entry.expiresUs + STALE_US;
    };
    holds(UNTOLD_TTL_US);
    for (const address of entry.deadUs.keys()) {
      if (!addresses.some((one) => one.address === address)) entry.deadUs.delete(address);
    }
    const tell = (told: readonly NameRecord[]): void => {
      const isNewest = entry.addresses === addresses && entry.error === null;
      const isOurs = told.some(({ address }) => addresses.some((one) => one.address === address));
      if (!isNewest || !isOurs) return;
      const ttlUs = Math.min(...told.map(({ ttlS }) => ttlS)) * US_PER_S;
      holds(Math.min(TTL_US_MAX, Math.max(TTL_US_MIN, ttlUs)));
    };
    records.then(tell, () => undefined);
  }

  #failed(entry: Entry, error: Error): void {
    const nowUs = this.#clock.nowUs();
    this.counts.failed += 1;
    entry.expiresUs = nowUs + FAILED_TTL_US;
    if (nowUs < entry.staleUs) this.counts.stale += 1;
    else {
      entry.error = error;
      entry.addresses = [];
    }
  }

  #answer(entry: Entry, done: Done): void {
    if (entry.error !== null) done(entry.error, []);
    else done(null, this.#inTurn(entry));
  }

  /** Rotated within each family, so that the system's choice of family stays; the dead at the end. */
  #inTurn(entry: Entry): Addresses {
    const { addresses, deadUs } = entry;
    entry.turn += 1;
    const nowUs = this.#clock.nowUs();
    const rotated = [4, 6].flatMap((family) => {
      const ofFamily = addresses.filter((one) => one.family === family);
      const from = (entry.turn - 1) % Math.max(1, ofFamily.length);
      return [...ofFamily.slice(from), ...ofFamily.slice(0, from)];
    });
    const isDead = ({ address }: LookupAddress): boolean => (deadUs.get(address) ?? 0) > nowUs;
    const living = rotated.filter((one) => !isDead(one));
    const preferred = addresses.find((one) => living.includes(one))?.family;
    const first = living.filter((one) => one.family === preferred);
    const second = living.filter((one) => one.family !== preferred);
    return [...first, ...second, ...rotated.filter(isDead)];
  }
}
