/**
 * The tools of many servers as one registry: asked side by side, each with its own limit, served from the last listing at
 * once and refreshed behind it. Every server is an item of a warm-up, so it is tried again, refreshed and reported as such.
 *
 *     const registry = await ToolRegistryCache.open({
 *       servers: { github: { list: ({ signal }) => client.listAll(signal) }, wiki: { list: …, optional: true } },
 *       store: new FileStore("/var/cache/my-agent"),
 *     });
 *
 * Invariants: no two tools of one name, or neither is served; a server that fails takes nothing from the others, and
 * nothing of its own that it has listed before.
 */
import { type Clock, realClock } from "../../clock/index.ts";
import { ManxError } from "../../core/index.ts";
import type { Deadline } from "../deadline.ts";
import type { JsonSchema } from "../input-check.ts";
import type { TimeSpan } from "../time-span.ts";
import { type ListedTool, type Listing, readListing, type ServerTool } from "./listed-tool.ts";
import { RegistryFile } from "./registry-file.ts";
import type { RegistryStore } from "./registry-store.ts";
import type { WarmItem } from "./warm-item.ts";
import type { WarmReport } from "./warm-report.ts";
import { WarmUp } from "./warm-up.ts";

export interface ToolServer {
  /** All tools, page after page. Answers that are no tools are set aside. */
  readonly list: (deadline: Deadline) => Promise<readonly ServerTool[]>;
  /** Its tools may be absent, if they are late or never come. Default false: nothing is served without them. */
  readonly optional?: boolean;
  /** For one listing. Default 10 s. */
  readonly within?: TimeSpan;
  /** Before each name, so that two servers may have a tool of one name. */
  readonly prefix?: string;
  /** Its address or version: a listing of another one is not served from the store. */
  readonly version?: string;
  /** Calls back when the server says that its list has changed. @returns a way to stop that. */
  readonly onChanged?: (changed: () => void) => () => void;
}

export interface ToolRegistryOptions {
  readonly servers: Readonly<Record<string, ToolServer>>;
  readonly store?: RegistryStore;
  /** Of the listings in the store. Default `manx-tools`. */
  readonly key?: string;
  /** Default 5 min. */
  readonly refreshEvery?: TimeSpan;
  /** Told of each new set of tools, and why one was not taken over. */
  readonly onUpdate?: (update: RegistryUpdate) => void;
  readonly clock?: Clock;
}

export interface RegistryTool {
  /** With its server's prefix. */
  readonly name: string;
  readonly server: string;
  /** As the server calls it. */
  readonly serverName: string;
  readonly description: string;
  readonly annotations: Readonly<Record<string, unknown>>;
}

export interface RegistryUpdate {
  readonly added: readonly string[];
  readonly removed: readonly string[];
  /** Another schema, description or annotation than before. */
  readonly changed: readonly string[];
  /** Set if the new lists cannot be served together: the old set stays. */
  readonly error?: ManxError;
}

export interface RegistryReport extends WarmReport {
  /** Entries of servers that are no tools. */
  readonly setAside: number;
  readonly storeErrors: number;
  /** Why the newest lists are not served; null if they are. */
  readonly refused: ManxError | null;
}

interface Entry {
  readonly shown: RegistryTool;
  readonly listed: ListedTool;
  schema: JsonSchema | undefined;
}

const WITHIN = "10s";
const REFRESH_EVERY = "5m";

export class ToolRegistryCache {
  readonly #options: ToolRegistryOptions;
  readonly #file: RegistryFile | undefined;
  readonly #warmUp: WarmUp;
  readonly #listings = new Map<string, Listing>();
  readonly #stops: (() => void)[] = [];
  #entries: ReadonlyMap<string, Entry> = new Map();
  #isOpen = false;
  #refused: ManxError | undefined;

  private constructor(
    options: ToolRegistryOptions,
    file: RegistryFile | undefined,
    seeds: ReadonlyMap<string, Listing>,
  ) {
    this.#options = options;
    this.#file = file;
    for (const [name, seed] of seeds) this.#listings.set(name, seed);
    this.#warmUp = new WarmUp({
      items: this.#items(seeds),
      clock: options.clock ?? realClock,
      observe: (_server, what) => {
        if (what !== "failed" && this.#isOpen) this.#update();
      },
    });
  }

  /**
   * @returns as soon as every server that is not optional has a listing, of now or of before.
   * @throws MANX_NOT_WARM if one has not; MANX_TOOL_INVALID for two tools of one name, naming both servers.
   */
  static async open(options: ToolRegistryOptions): Promise<ToolRegistryCache> {
    const { store, key = "manx-tools", servers, clock = realClock } = options;
    const file = store === undefined ? undefined : new RegistryFile(store, key, clock);
    const seeds = (await file?.read(servers)) ?? new Map<string, Listing>();
    const registry = new ToolRegistryCache(options, file, seeds);
    try {
      await registry.#open();
      return registry;
    } catch (error) {
      registry.close();
      throw error;
    }
  }

  /** In the order of the servers, and of each server's list. */
  get tools(): readonly RegistryTool[] {
    return [...this.#entries.values()].map(({ shown }) => shown);
  }

  has(name: string): boolean {
    return this.#entries.has(name);
  }

  /** Parsed when it is first asked for. @returns undefined if there is no such tool (any more). */
  schema(name: string): JsonSchema | undefined {
    const entry = this.#entries.get(name);
    if (entry === undefined) return undefined;
    entry.schema ??= JSON.parse(entry.listed.schemaText) as JsonSchema;
    return entry.schema;
  }

  /** Servers as items: which is slow, which has failed and why, which is served from before. */
  report(): RegistryReport {
    const setAside = [...this.#listings.values()].reduce((sum, one) => sum + one.setAside, 0);
    const storeErrors = this.#file?.errors ?? 0;
    return { ...this.#warmUp.report(), setAside, storeErrors, refused: this.#refused ?? null };
  }

  /** Asks a server again now. */
  async refresh(server: string): Promise<void> {
    await this.#warmUp.refresh(server);
  }

  close(): void {
    for (const stop of this.#stops.splice(0)) stop();
    this.#warmUp.close();
  }

  async #open(): Promise<void> {
    const { isReady, items } = await this.#warmUp.start();
    const failed = items.find((item) => item.isRequired && item.failures > 0);
    if (!isReady) {
      throw new ManxError("MANX_NOT_WARM", {
        what: "a server whose tools are needed does not list them",
        where: `server ${JSON.stringify(failed?.name)}`,
        got: failed?.error ?? "no answer",
        hint: "say optional: true if the agent can do without its tools",
      });
    }
    this.#entries = this.#merged();
    this.#isOpen = true;
    if (items.some((item) => item.status === "ready")) {
      this.#file?.write(this.#listings, this.#options.servers);
    }
    for (const [name, { onChanged }] of Object.entries(this.#options.servers)) {
      const stop = onChanged?.(() => void this.refresh(name).catch(() => {}));
      if (stop !== undefined) this.#stops.push(stop);
    }
  }

  #items(seeds: ReadonlyMap<string, Listing>): Readonly<Record<string, WarmItem>> {
    const { servers, refreshEvery = REFRESH_EVERY } = this.#options;
    const items = Object.entries(servers).map(([name, server]): [string, WarmItem] => {
      const seed = seeds.get(name);
      const item: WarmItem = {
        run: async (_inputs, deadline) => {
          const listing = readListing(await server.list(deadline));
          this.#listings.set(name, listing);
          return listing;
        },
        proof: "run",
        serves: "tools",
        within: server.within ?? WITHIN,
        refreshEvery,
        optional: server.optional ?? false,
        ...(seed !== undefined && { seed: { value: seed } }),
      };
      return [name, item];
    });
    return Object.fromEntries(items);
  }

  #update(): void {
    const before = this.#entries;
    let after: ReadonlyMap<string, Entry>;
    try {
      after = this.#merged();
    } catch (error) {
      this.#refused = error as ManxError;
      this.#tell({ added: [], removed: [], changed: [], error: this.#refused });
      return;
    }
    this.#refused = undefined;
    const added = [...after.keys()].filter((name) => !before.has(name));
    const removed = [...before.keys()].filter((name) => !after.has(name));
    const changed = [...after].flatMap(([name, { listed }]) => {
      const old = before.get(name);
      return old !== undefined && !isSame(old.listed, listed) ? [name] : [];
    });
    if (added.length + removed.length + changed.length === 0) return;
    this.#entries = after;
    this.#file?.write(this.#listings, this.#options.servers);
    this.#tell({ added, removed, changed });
  }

  #tell(update: RegistryUpdate): void {
    this.#options.onUpdate?.(update);
  }

  #merged(): ReadonlyMap<string, Entry> {
    const entries = new Map<string, Entry>();
    for (const [server, { prefix = "" }] of Object.entries(this.#options.servers)) {
      for (const listed of this.#listings.get(server)?.tools ?? []) {
        const name = prefix + listed.name;
        const other = entries.get(name)?.shown.server;
        if (other !== undefined) throw clash(name, other, server);
        const { description, annotations, name: serverName } = listed;
        const shown = { name, server, serverName, description, annotations };
        const schema =
          this.#entries.get(name)?.listed === listed ? this.#entries.get(name)!.schema : undefined;
        entries.set(name, { shown, listed, schema });
      }
    }
    return entries;
  }
}

function isSame(left: ListedTool, right: ListedTool): boolean {
  return left === right || JSON.stringify(left) === JSON.stringify(right);
}

function clash(name: string, one: string, other: string): ManxError {
  return new ManxError("MANX_TOOL_INVALID", {
    what: "two servers have a tool of one name",
    where: `tool ${JSON.stringify(name)}`,
    got: `from ${JSON.stringify(one)} and from ${JSON.stringify(other)}`,
    hint: "give one of the two a prefix",
  });
}
