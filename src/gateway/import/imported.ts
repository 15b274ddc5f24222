/**
 * A configuration of ours in the making: upstreams that several models share, models with their targets, and notes on
 * what could not be carried over. Secrets are named, never copied.
 */
import type { Provider } from "./providers.ts";

export interface ImportNote {
  /** Path in the other's file: `router_settings.cooldown_time`. */
  readonly where: string;
  readonly what: string;
}

export interface ImportedTarget {
  readonly upstream: string;
  readonly model?: string;
  readonly weight?: number;
  readonly order?: number;
}

interface Upstream {
  readonly name: string;
  readonly fields: Readonly<Record<string, unknown>>;
}

export interface UpstreamParts {
  readonly name: string;
  readonly provider: Provider;
  readonly url: string | undefined;
  /** `env:NAME`; undefined = callers' own credentials. */
  readonly key: string | undefined;
  readonly connections?: number;
}

const NOTES_MAX = 500;
const TARGETS_MAX = 64;
const MODEL_NAME = /^(\*|[\w.:@/-]{1,200})$/;

export class Imported {
  readonly notes: ImportNote[] = [];
  /** Sections beside upstreams and models. */
  readonly others: Record<string, unknown> = {};
  readonly models = new Map<string, ImportedTarget[]>();
  readonly #upstreams = new Map<string, Upstream>();

  note(where: string, what: string): void {
    if (this.notes.length < NOTES_MAX) this.notes.push({ where, what });
  }

  /** @returns the name of the upstream; one that is alike is used again. */
  upstream({ name, provider, url, key, connections }: UpstreamParts): string {
    const fields = {
      url: url ?? provider.url,
      format: provider.format,
      kind: provider.kind,
      ...(key !== undefined && { key }),
      ...(provider.authHeader !== undefined && { authHeader: provider.authHeader }),
      ...(provider.canPrefill === true && { canPrefill: true }),
      ...(connections !== undefined && {
        connections: Math.min(65_535, Math.max(1, Math.round(connections))),
      }),
    };
    const identity = JSON.stringify(fields);
    const known = this.#upstreams.get(identity);
    if (known !== undefined) return known.name;
    const taken = new Set([...this.#upstreams.values()].map((one) => one.name));
    let free = name;
    for (let count = 2; taken.has(free); count += 1) free = `${name}-${count}`;
    this.#upstreams.set(identity, { name: free, fields });
    return free;
  }

  /** A name that Manx's models cannot have is noted and left out. */
  target(model: string, target: ImportedTarget): void {
    if (!MODEL_NAME.test(model)) {
      this.note(
        model,
        'names are exact, of letters, digits and . _ : @ / -, or "*" alone; left out',
      );
      return;
    }
    const name = target.model ?? model;
    if (name === "" || name.length > 200) {
      this.note(model, "the upstream's name for it is empty or too long; left out");
      return;
    }
    const targets = this.models.get(model) ?? [];
    if (targets.length >= TARGETS_MAX) {
      this.note(model, `it has more than ${TARGETS_MAX} targets; the others are left out`);
      return;
    }
    const { weight, order, ...rest } = target;
    targets.push({
      ...rest,
      ...(weight !== undefined && { weight: Math.min(weight, 1_000_000) }),
      ...(order !== undefined && { order: Math.min(100, Math.max(0, Math.round(order))) }),
    });
    this.models.set(model, targets);
  }

  /** The section `gateway` as it is written. */
  section(): Record<string, unknown> {
    return {
      upstreams: [...this.#upstreams.values()].map(({ name, fields }) => ({ name, ...fields })),
      models: [...this.models].map(([name, targets]) => ({ name, targets })),
      ...this.others,
    };
  }
}

/**
 * Where a key is, from what the other file has for it.
 *
 * @param given `os.environ/NAME`, `$NAME`, a key in clear, or nothing.
 * @param variable that holds it by custom.
 */
export function keyReference(
  given: string | undefined,
  variable: string,
): { readonly key: string; readonly isInClear: boolean } {
  const named = /^(?:os\.environ\/|\$\{?|env:)([A-Za-z_][A-Za-z0-9_]*)\}?$/.exec(given ?? "")?.[1];
  if (named !== undefined) return { key: `env:${named}`, isInClear: false };
  return { key: `env:${variable}`, isInClear: given !== undefined };
}
