/**
 * TLS sessions to resume, by origin and trust, shared by all pools of a gateway, so that neither a connection that is closed
 * nor a pool that a reload replaces takes them away. Resumption spares certificates and signatures, the dear part of a
 * handshake in CPU; in TLS 1.3 it spares no round trip (RFC 8446, 2.2).
 *
 * undici's own cache holds sessions weakly, so that a collection of garbage empties it, and tells hosts apart but neither
 * ports nor trust; a resumed handshake shows no certificate, so a session must never cross from one trust to another.
 *
 * Bounded: KEYS_MAX keys, the one that was used longest ago goes first; one session each, the newest.
 */
import { createHash } from "node:crypto";

export interface TlsTrust {
  /** PEM of the authorities to trust instead of the system's. */
  readonly ca?: string;
  /** Name that the certificate must have, if it is not the host's. */
  readonly servername?: string;
}

const KEYS_MAX = 256;

export class TicketCache {
  readonly #sessions = new Map<string, Buffer>();
  readonly #waiting = new Map<string, Set<() => void>>();

  /** @returns what a session of this origin under this trust is kept under. */
  static keyOf(origin: URL, { ca = "", servername = "" }: TlsTrust): string {
    const trust = ca === "" ? "" : createHash("sha256").update(ca).digest("base64");
    return `${origin.host} ${servername} ${trust}`;
  }

  get size(): number {
    return this.#sessions.size;
  }

  get(key: string): Buffer | undefined {
    const session = this.#sessions.get(key);
    if (session !== undefined) this.#put(key, session);
    return session;
  }

  set(key: string, session: Buffer): void {
    this.#put(key, session);
    if (this.#sessions.size > KEYS_MAX) {
      this.#sessions.delete(this.#sessions.keys().next().value!);
    }
    const waiting = this.#waiting.get(key);
    this.#waiting.delete(key);
    for (const wake of waiting ?? []) wake();
  }

  /** A handshake that offered it has failed. */
  delete(key: string): void {
    this.#sessions.delete(key);
  }

  /** Calls back once when there is a session for `key`. @returns takes that back. */
  whenSet(key: string, run: () => void): () => void {
    if (this.#sessions.has(key)) {
      run();
      return () => undefined;
    }
    const waiting = this.#waiting.get(key) ?? new Set();
    this.#waiting.set(key, waiting.add(run));
    return () => {
      waiting.delete(run);
      if (waiting.size === 0 && this.#waiting.get(key) === waiting) this.#waiting.delete(key);
    };
  }

  /** At the young end. */
  #put(key: string, session: Buffer): void {
    this.#sessions.delete(key);
    this.#sessions.set(key, session);
  }
}
