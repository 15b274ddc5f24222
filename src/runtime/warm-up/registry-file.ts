/**
 * Listings as they are kept in a store: one JSON document with a version. What cannot be read is set aside and counted,
 * never fatal: a start without a cache is slow, a start that dies of its cache is worse.
 *
 * Invariant: at most one write is under way, and the last one wins.
 */
import type { Clock } from "../../clock/index.ts";
import { type Listing, storedListing } from "./listed-tool.ts";
import type { RegistryStore } from "./registry-store.ts";

const SCHEMA_VERSION = 1;

interface Document {
  readonly schemaVersion: number;
  readonly writtenUnixMs: number;
  readonly servers: Readonly<Record<string, { readonly version: string; readonly tools: unknown }>>;
}

type Versions = Readonly<Record<string, { readonly version?: string }>>;

export class RegistryFile {
  readonly #store: RegistryStore;
  readonly #key: string;
  readonly #clock: Clock;
  #next: string | undefined;
  #isWriting = false;
  /** Reads and writes that failed, and documents that could not be read. */
  errors = 0;

  constructor(store: RegistryStore, key: string, clock: Clock) {
    this.#store = store;
    this.#key = key;
    this.#clock = clock;
  }

  /** @returns listings of these servers in these versions. */
  async read(servers: Versions): Promise<ReadonlyMap<string, Listing>> {
    const listings = new Map<string, Listing>();
    try {
      const text = await this.#store.get(this.#key);
      if (text === undefined) return listings;
      const document = parse(text);
      if (document === undefined) {
        this.errors += 1;
        await this.#store.setAside?.(this.#key);
        return listings;
      }
      for (const [name, { version = "" }] of Object.entries(servers)) {
        const stored = Object.hasOwn(document.servers, name) ? document.servers[name] : undefined;
        const listing = stored?.version === version ? storedListing(stored.tools) : undefined;
        if (listing !== undefined) listings.set(name, listing);
      }
    } catch {
      this.errors += 1;
    }
    return listings;
  }

  /** Does not wait, and never throws. */
  write(listings: ReadonlyMap<string, Listing>, servers: Versions): void {
    const stored = [...listings].map(([name, { tools }]) => {
      return [name, { version: servers[name]?.version ?? "", tools }] as const;
    });
    const document: Document = {
      schemaVersion: SCHEMA_VERSION,
      writtenUnixMs: this.#clock.wallMs(),
      servers: Object.fromEntries(stored),
    };
    this.#next = JSON.stringify(document);
    if (!this.#isWriting) void this.#writeAll();
  }

  async #writeAll(): Promise<void> {
    this.#isWriting = true;
    for (let text = this.#next; text !== undefined; text = this.#next) {
      this.#next = undefined;
      try {
        await this.#store.put(this.#key, text);
      } catch {
        this.errors += 1;
      }
    }
    this.#isWriting = false;
  }
}

function parse(text: string): Document | undefined {
  try {
    const document = JSON.parse(text) as Partial<Document> | null;
    const isOurs =
      document?.schemaVersion === SCHEMA_VERSION && typeof document.servers === "object";
    return isOurs && document.servers !== null ? (document as Document) : undefined;
  } catch {
    return undefined;
  }
}
