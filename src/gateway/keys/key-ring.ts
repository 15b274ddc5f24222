/**
 * The keys that callers may use, and what each may do. A check costs one hash and one comparison in constant time, whether
 * the key is there or not; no error says more of a key than its public part. A ring does not change: a reload makes another.
 */
import { timingSafeEqual } from "node:crypto";
import { ManxError } from "../../core/index.ts";
import type { HeaderReader, TenantLimits } from "../../policy/index.ts";
import type { KeyRecord } from "./key-record.ts";
import { hashOf, idOf, keyIn } from "./virtual-key.ts";

/** What is known of a caller whose key is good. */
export interface KeyHolder {
  readonly keyId: string;
  readonly tenant: string;
  /**
   * Under which name it is queued and limited: its tenant, or `tenant/keyId` for a key with a rate of its own, since a rate
   * is a tenant's in admission. `admissionTenants` has the limits of those.
   */
  readonly admissionTenant: string;
  /** 0 is served first. */
  readonly priority: number;
  readonly budget: KeyRecord["budget"];
  /** It may mark calls as warm-up. */
  readonly mayWarmUp: boolean;
  /** `gpt-*` for all that begin so; null = all. */
  readonly models: readonly string[] | null;
}

interface Entry {
  readonly record: KeyRecord;
  readonly hash: Buffer;
  readonly expiresMs: number;
  readonly holder: KeyHolder;
}

/** Compared against where there is no such key, so that the answer takes as long. */
const NOBODY = Buffer.alloc(32);
const HEADERS = ["authorization", "x-api-key", "api-key"] as const;

export class KeyRing {
  readonly #entries: ReadonlyMap<string, Entry>;

  /** @param records ids differ. */
  constructor(records: readonly KeyRecord[]) {
    this.#entries = new Map(records.map((record) => [record.id, entryOf(record)]));
  }

  get size(): number {
    return this.#entries.size;
  }

  get holders(): KeyHolder[] {
    return Array.from(this.#entries.values(), ({ holder }) => holder);
  }

  /**
   * @param header the call's headers by lower-case name.
   * @param wallMs Unix time, for keys that expire.
   * @returns who it is, or MANX_UNAUTHENTICATED or MANX_FORBIDDEN for the caller.
   */
  check(header: HeaderReader, wallMs: number): KeyHolder | ManxError {
    const keys = keysIn(header);
    const [key] = keys;
    if (key === undefined) {
      return unauthenticated({ what: "the call has no key of this gateway", expected: EXPECTED });
    }
    // Two keys would let a call be counted under one and checked under the other.
    if (keys.length > 1) return unauthenticated({ what: "the call has two different keys" });
    const id = idOf(key);
    const entry = id === undefined ? undefined : this.#entries.get(id);
    const isRight = timingSafeEqual(hashOf(key), entry?.hash ?? NOBODY);
    if (entry === undefined || !isRight) return unauthenticated({ what: "this is no valid key" });
    const { record, expiresMs, holder } = entry;
    if (wallMs >= expiresMs) {
      return unauthenticated({
        what: `the key mk_${record.id} has expired`,
        got: `${record.expires}`,
      });
    }
    if (record.disabled) {
      return new ManxError("MANX_FORBIDDEN", { what: `the key mk_${record.id} is switched off` });
    }
    return holder;
  }

  /** Limits for admission, by `admissionTenant`, of the keys that have a rate of their own. */
  admissionTenants(): Record<string, Partial<TenantLimits>> {
    const limits = [...this.#entries.values()].flatMap(({ record, holder }) => {
      const { concurrency, tokensPerMinute } = record.rate;
      if (holder.admissionTenant === holder.tenant) return [];
      const own: Partial<TenantLimits> = {
        ...(concurrency !== null && { concurrencyMax: concurrency }),
        ...(tokensPerMinute !== null && { tokensPerMinute }),
      };
      return [[holder.admissionTenant, own] as const];
    });
    return Object.fromEntries(limits);
  }
}

/** Whether the key may be used for a model. @returns MANX_FORBIDDEN if not */
export function refusedModel(holder: KeyHolder, model: string): ManxError | undefined {
  const { models, keyId } = holder;
  if (models === null || models.some((pattern) => matches(pattern, model))) return undefined;
  return new ManxError("MANX_FORBIDDEN", {
    what: `the key mk_${keyId} may not use this model`,
    where: "model",
    expected: models.length === 0 ? "no model at all" : `one of ${models.slice(0, 20).join(", ")}`,
    got: JSON.stringify(model.slice(0, 100)),
  });
}

const EXPECTED = "mk_… in Authorization: Bearer, x-api-key or api-key";

function unauthenticated(parts: { what: string; expected?: string; got?: string }): ManxError {
  return new ManxError("MANX_UNAUTHENTICATED", parts);
}

/**
 * What looks like a key of ours in the headers that clients use. Others may stand beside it: an OpenAI client sends its
 * bearer token whether it is one or not.
 */
function keysIn(header: HeaderReader): string[] {
  const found = new Set<string>();
  for (const name of HEADERS) {
    const key = keyIn(header(name) ?? "");
    if (key !== undefined) found.add(key);
  }
  return [...found];
}

function entryOf(record: KeyRecord): Entry {
  const { id, tenant, priority, warmUp: mayWarmUp, budget, models, rate } = record;
  const hasRate = rate.concurrency !== null || rate.tokensPerMinute !== null;
  return {
    record,
    hash: Buffer.from(record.hash, "hex"),
    expiresMs: record.expires === null ? Number.POSITIVE_INFINITY : Date.parse(record.expires),
    holder: {
      keyId: id,
      tenant,
      admissionTenant: hasRate ? `${tenant}/${id}` : tenant,
      priority,
      mayWarmUp,
      budget,
      models,
    },
  };
}

function matches(pattern: string, model: string): boolean {
  return pattern.endsWith("*") ? model.startsWith(pattern.slice(0, -1)) : pattern === model;
}
