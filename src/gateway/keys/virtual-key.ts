/**
 * A virtual key: `mk_` + 8 characters that say which one + `_` + 43 that prove it.
 *
 *     mk_Ab3dE5gH_q0Xk…                 kept: Ab3dE5gH and SHA-256 of the whole text
 *        └ id     └ 256 random bits
 *
 * One plain SHA-256 is enough. Slow hashes (bcrypt, Argon2) make it dear to try the passwords that people think of; of 2^256
 * random keys nobody tries a share worth naming, however cheap a try is. And the gateway checks one at every request.
 */
import { createHash } from "node:crypto";
import type { SecretBytes } from "../../clock/index.ts";

const ID_LENGTH = 8;
const SECRET_BYTES = 32;
/** 62 of 64 letters of base64url; the other two would end a word in a log. */
const ID_LETTERS = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789";
const KEY = /^mk_([A-Za-z0-9]{8})_[A-Za-z0-9_-]{43}$/;

export interface NewKey {
  /** Shown once to whoever made it, and kept nowhere. */
  readonly key: string;
  readonly id: string;
  readonly hash: string;
}

export function newKey(random: SecretBytes): NewKey {
  const id = randomId(random);
  const key = `mk_${id}_${Buffer.from(random(SECRET_BYTES)).toString("base64url")}`;
  return { key, id, hash: hashOf(key).toString("hex") };
}

/** @returns the id of what has the form of a key; undefined for anything else. */
export function idOf(text: string): string | undefined {
  return KEY.exec(text)?.[1];
}

/** Whether a header's value is, or tries to be, a key of ours: such a one never leaves the gateway. */
export function carriesKey(value: string): boolean {
  return keyIn(value) !== undefined;
}

/** The key in a header's value, with or without `Bearer` before it. */
export function keyIn(value: string): string | undefined {
  const text = value.replace(/^\s*bearer\s+/i, "").trim();
  return text.startsWith("mk_") ? text : undefined;
}

/** 32 bytes. */
export function hashOf(key: string): Buffer {
  return createHash("sha256").update(key).digest();
}

function randomId(random: SecretBytes): string {
  let id = "";
  while (id.length < ID_LENGTH) {
    for (const byte of random(2 * ID_LENGTH)) {
      // 248 = 4 x 62: what lies beyond would make the first letters likelier.
      if (byte < 248 && id.length < ID_LENGTH) id += ID_LETTERS[byte % ID_LETTERS.length];
    }
  }
  return id;
}
