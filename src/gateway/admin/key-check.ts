/**
 * Whether whoever asks has the operators' key: compared in constant time, and for an address that has sent too many wrong
 * ones not compared at all for a while, so that nobody can try keys at leisure.
 *
 * Bounded: addresses remembered. Of a crowd that sends wrong keys from ever new addresses the oldest is forgotten first.
 */
import { createHash, timingSafeEqual } from "node:crypto";
import type { Clock } from "../../clock/index.ts";
import type { Secret } from "../../config/index.ts";
import { ManxError } from "../../core/index.ts";
import { TokenBucket } from "../../policy/index.ts";

/** Wrong ones in a row, and how many more each minute. */
const WRONG = { burst: 10, perMinute: 6 } as const;
const ADDRESSES_MAX = 1_000;

export class KeyCheck {
  readonly #clock: Clock;
  readonly #wrong = new Map<string, TokenBucket>();

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** @returns why not; undefined if it is the key. */
  refusal(authorization: string | undefined, key: Secret, address: string): ManxError | undefined {
    const nowUs = this.#clock.nowUs();
    const bucket = this.#wrong.get(address);
    const readyUs = bucket?.readyUs(nowUs) ?? nowUs;
    if (readyUs > nowUs) {
      const details = { retryAfterUs: readyUs - nowUs };
      return new ManxError("MANX_RATE_LIMITED", { what: "too many wrong keys", details });
    }
    const sent = /^Bearer +(\S.*)$/i.exec(authorization ?? "")?.[1] ?? "";
    if (timingSafeEqual(digest(sent), digest(key.reveal()))) return undefined;
    this.#count(address, bucket, nowUs);
    return new ManxError("MANX_UNAUTHENTICATED", {
      what: "this is not the operators' key",
      expected: "Authorization: Bearer, and the key of gateway.admin",
      hint: "send the key that stands, or is named, in gateway.admin.key",
    });
  }

  #count(address: string, known: TokenBucket | undefined, nowUs: number): void {
    const bucket = known ?? new TokenBucket(WRONG.perMinute / 60, WRONG.burst);
    this.#wrong.delete(address);
    this.#wrong.set(address, bucket);
    bucket.take(1, nowUs);
    if (this.#wrong.size <= ADDRESSES_MAX) return;
    for (const oldest of this.#wrong.keys()) {
      this.#wrong.delete(oldest);
      return;
    }
  }
}

/** Of one length, so that a comparison does not tell how long the key is. */
function digest(text: string): Buffer {
  return createHash("sha256").update(text).digest();
}
