/**
 * What each replica has been sent lately: a radix index over the blocks of prompts. A block's name stands for the whole
 * prompt up to its end, so the tree needs no edges: a map from name to node is the tree.
 *
 *     names      a ── ab ── abc          node = one slot: for each replica, the stamp of its last use
 *                 └── ax
 *
 * It is a guess, built from what was sent and not from what is cached. Two things keep it close to an engine's own LRU
 * cache. A replica's stamps count the new tokens that it was sent, and what was last used more than its cache's size ago
 * is taken for gone. And a replica that lost its cache is forgotten as a whole, in constant time.
 *
 * Invariants: at most `nodesMax` nodes; a node is never older than what follows it, so the oldest node is always a leaf
 * and no prefix has a gap.
 *
 * After the approximate indexes of llm-d's router and SGLang's gateway, whose trees had no bound (dynamo#4429,
 * production-stack#687).
 */
import { assert } from "../../core/index.ts";
import { SlotOrder } from "./slot-order.ts";

/** Stamps are 32 bits: at this step they last for 4 × 10^12 tokens a replica, years of full load. */
const STAMP_TOKENS = 1_024;
const STAMP_MAX = 2 ** 32 - 1;
/** Name, links and map entry of a node, beside 4 bytes a replica. */
const NODE_BYTES = 64;
const NODES_MOST = 2 ** 22;

export interface BlockIndexOptions {
  /** 1 to 256. */
  readonly replicas: number;
  /** Bound of the memory, to within a factor of two. */
  readonly bytesMax: number;
}

export class BlockIndex {
  readonly nodesMax: number;
  readonly #replicas: number;
  readonly #slots = new Map<number, number>();
  readonly #names: Float64Array;
  /** By slot, then replica; 0 is never. */
  readonly #stamps: Uint32Array;
  readonly #order: SlotOrder;
  /** New tokens by replica since the start. */
  readonly #sentTokens: Float64Array;
  readonly #cacheTokens: Float64Array;
  /** By replica: what has this stamp or an older one is gone. */
  readonly #gone: Uint32Array;
  readonly #alive: Int32Array;
  #path: Int32Array = new Int32Array(64);

  constructor({ replicas, bytesMax }: BlockIndexOptions) {
    assert(Number.isInteger(replicas) && replicas >= 1 && replicas <= 256, "1 to 256 replicas");
    const nodes = Math.floor(bytesMax / (NODE_BYTES + 4 * replicas));
    this.nodesMax = Math.min(NODES_MOST, Math.max(1, nodes));
    this.#replicas = replicas;
    this.#names = new Float64Array(this.nodesMax);
    this.#stamps = new Uint32Array(this.nodesMax * replicas);
    this.#order = new SlotOrder(this.nodesMax);
    this.#sentTokens = new Float64Array(replicas);
    this.#cacheTokens = new Float64Array(replicas).fill(Number.POSITIVE_INFINITY);
    this.#gone = new Uint32Array(replicas);
    this.#alive = new Int32Array(replicas);
  }

  get nodes(): number {
    return this.#slots.size;
  }

  /** About what it holds now. */
  get bytes(): number {
    return this.#slots.size * (NODE_BYTES + 4 * this.#replicas);
  }

  /** Whether any replica was sent it, and it has not been pushed out since. */
  knows(name: number): boolean {
    return this.#slots.has(name);
  }

  /** How much KV the replica can hold; until it is told, as much as this index remembers. */
  setCache(replica: number, tokens: number): void {
    this.#cacheTokens[replica] = tokens;
    this.#age(replica);
  }

  /** The replica has lost its cache. */
  forget(replica: number): void {
    this.#gone[replica] = this.#stampOf(replica);
    // What it is sent from now on gets a later stamp.
    this.#sentTokens[replica]! += STAMP_TOKENS;
  }

  /** @param into by replica: leading blocks of `names` that it is taken to hold. */
  match(names: readonly number[], into: Int32Array): void {
    into.fill(0);
    const alive = this.#alive;
    let left = this.#replicas;
    for (let replica = 0; replica < left; replica += 1) alive[replica] = replica;
    for (let depth = 0; depth < names.length && left > 0; depth += 1) {
      const slot = this.#slots.get(names[depth]!);
      if (slot === undefined) return;
      const row = slot * this.#replicas;
      let kept = 0;
      for (let i = 0; i < left; i += 1) {
        const replica = alive[i]!;
        if (this.#stamps[row + replica]! <= this.#gone[replica]!) continue;
        into[replica] = depth + 1;
        alive[kept] = replica;
        kept += 1;
      }
      left = kept;
    }
  }

  /**
   * The replica is sent this prompt. Of one longer than the whole index, the beginning is kept.
   *
   * @param newTokens what its cache has to take in.
   */
  remember(names: readonly number[], replica: number, newTokens: number): void {
    // From before it came: a cache that has room for less than the prompt holds no part of it that can be relied on.
    const stamp = this.#stampOf(replica);
    this.#sentTokens[replica]! += newTokens;
    this.#age(replica);
    const length = Math.min(names.length, this.nodesMax);
    const path = this.#touchKnown(names, length);
    // From the end to the start, so that each node is newer than what follows it.
    for (let depth = length - 1; depth >= 0; depth -= 1) {
      const slot = path[depth]! >= 0 ? path[depth]! : this.#insert(names[depth]!);
      this.#stamps[slot * this.#replicas + replica] = stamp;
      this.#order.touch(slot);
    }
  }

  /** Before anything is pushed out: or a new end could push out the start that it belongs to. */
  #touchKnown(names: readonly number[], length: number): Int32Array {
    if (this.#path.length < length) this.#path = new Int32Array(length * 2);
    for (let depth = length - 1; depth >= 0; depth -= 1) {
      const slot = this.#slots.get(names[depth]!) ?? -1;
      this.#path[depth] = slot;
      if (slot >= 0) this.#order.touch(slot);
    }
    return this.#path;
  }

  #insert(name: number): number {
    const known = this.#slots.get(name);
    // A prompt that has one name twice is no prompt, but must do no harm.
    if (known !== undefined) return known;
    const slot = this.#slots.size < this.nodesMax ? this.#slots.size : this.#order.oldest;
    if (this.#slots.size === this.nodesMax) this.#slots.delete(this.#names[slot]!);
    this.#names[slot] = name;
    this.#stamps.fill(0, slot * this.#replicas, (slot + 1) * this.#replicas);
    this.#slots.set(name, slot);
    return slot;
  }

  #stampOf(replica: number): number {
    return Math.min(STAMP_MAX, 1 + Math.floor(this.#sentTokens[replica]! / STAMP_TOKENS));
  }

  #age(replica: number): void {
    const cached = this.#sentTokens[replica]! - this.#cacheTokens[replica]!;
    if (cached < 0) return;
    const gone = Math.min(STAMP_MAX - 1, Math.floor(cached / STAMP_TOKENS));
    if (gone > this.#gone[replica]!) this.#gone[replica] = gone;
  }
}
