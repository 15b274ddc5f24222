/**
 * Paged KV with a prefix cache, as vLLM keeps it: a full block can be found again by what it and all before it hold, for
 * as long as it has not been given to somebody else.
 *
 *     ┌───────── held (references ≥ 1) ─────────┐   ┌── free list, oldest first ──────────────┐
 *     │ a request's blocks, shared if they match │   │ never used │ findable, nobody holds them │
 *     └──────────────────────────────────────────┘   └─────────────────────────────────────────┘
 *              release: last block first, to the end ──▶      taken from the front: forgotten then
 *
 * Invariants: held + free = total; a held block is never taken; a match is contiguous from the start; whole blocks only; a
 * block can be found only after the step that computed it has ended, so two requests of one step share nothing new.
 *
 * A piece of `pieceTokens` (a multiple of the block) has one name, so a look-up costs one map access per piece, not per block.
 */
import { assert } from "../core/index.ts";
import { heldTokens, type KvMemory } from "./kv-memory.ts";
import type { EngineRequest } from "./request.ts";

const NONE = -1;

/** What can be found under one name. It is in the map for as long as that is anything. */
interface Piece {
  readonly name: number;
  /** By place; NONE where there is none. A plain list: there are hundreds of thousands of short ones. */
  readonly blocks: number[];
  /** Places that are not NONE. */
  found: number;
}

export class PrefixKv implements KvMemory {
  readonly name = "prefix";
  readonly totalTokens: number;
  readonly blockTokens: number;
  readonly pieceTokens: number;
  readonly #blocksPerPiece: number;
  readonly #pieces = new Map<number, Piece>();
  /** By block: holders, the piece and the place at which it can be found (NONE: nowhere), neighbours in the free list. */
  readonly #references: Int32Array;
  readonly #pieceOf: (Piece | undefined)[];
  readonly #placeOf: Int32Array;
  readonly #next: Int32Array;
  readonly #previous: Int32Array;
  /** Index of the list's head and tail sentinel. */
  readonly #end: number;
  #free: number;
  #shared = 0;
  /** Blocks that the last match found, so many of the list; its admission takes them over. */
  readonly #found: number[] = [];
  #foundCount = 0;
  #foundFor: EngineRequest | undefined;
  /** Names for the blocks of requests that were thrown out; below zero, so they never meet a prefix's. */
  #lastOwnName = -1;

  constructor(totalTokens: number, blockTokens: number, pieceTokens = blockTokens) {
    assert(pieceTokens % blockTokens === 0, "a piece is whole blocks");
    const blocks = Math.floor(totalTokens / blockTokens);
    this.blockTokens = blockTokens;
    this.pieceTokens = pieceTokens;
    this.totalTokens = blocks * blockTokens;
    this.#blocksPerPiece = pieceTokens / blockTokens;
    this.#references = new Int32Array(blocks);
    this.#pieceOf = new Array<Piece | undefined>(blocks).fill(undefined);
    this.#placeOf = new Int32Array(blocks).fill(NONE);
    this.#end = blocks;
    this.#next = new Int32Array(blocks + 1).map((_, i) => (i === blocks ? 0 : i + 1));
    this.#previous = new Int32Array(blocks + 1).map((_, i) => (i === 0 ? blocks : i - 1));
    this.#free = blocks;
  }

  get reservedTokens(): number {
    return this.totalTokens - this.#free * this.blockTokens;
  }

  get sharedTokens(): number {
    return this.#shared * this.blockTokens;
  }

  canEverHold(tokens: number): boolean {
    return Math.ceil(tokens / this.blockTokens) * this.blockTokens <= this.totalTokens;
  }

  match(request: EngineRequest): number {
    const longest = Math.floor((request.known - 1) / this.blockTokens);
    this.#foundCount = 0;
    this.#foundFor = request;
    while (this.#foundCount < longest && this.#findPiece(request, longest)) {
      // The next piece is worth a look only if this one was there to its end.
    }
    return this.#foundCount * this.blockTokens;
  }

  admit(request: EngineRequest, tokens: number, cached: number, fitTokens = tokens): boolean {
    const hits = this.#foundCount;
    assert(this.#foundFor === request, "a request is matched right before it is admitted");
    assert(hits * this.blockTokens === cached, "what was matched is what is taken over");
    let idleHits = 0;
    for (let i = 0; i < hits; i += 1) if (this.#references[this.#found[i]!] === 0) idleHits += 1;
    const needed = Math.ceil(fitTokens / this.blockTokens) - hits;
    if (needed > this.#free - idleHits) return false;
    const count = Math.max(hits, Math.ceil(tokens / this.blockTokens));
    const blocks = new Array<number>(count);
    for (let i = 0; i < hits; i += 1) {
      const block = this.#found[i]!;
      this.#hold(block);
      blocks[i] = block;
    }
    this.#takeInto(blocks, hits, count);
    request.blocks = blocks;
    request.reservedTokens = count * this.blockTokens;
    request.sealTokens = this.#nextSeal(request, cached);
    return true;
  }

  reserve(request: EngineRequest, tokens: number): boolean {
    const missing = Math.ceil((tokens - request.reservedTokens) / this.blockTokens);
    if (missing <= 0) return true;
    if (missing > this.#free) return false;
    if (request.blocks.length === 0) request.blocks = [];
    const { length } = request.blocks;
    this.#takeInto(request.blocks, length, length + missing);
    request.reservedTokens += missing * this.blockTokens;
    return true;
  }

  /** Every full block of the named prompt that has been computed since the last time can be found from now on. */
  seal(request: EngineRequest): void {
    const perPiece = this.#blocksPerPiece;
    const until = Math.floor(Math.min(request.computed, request.promptTokens) / this.blockTokens);
    let i = request.sealTokens / this.blockTokens - 1;
    while (i < until) {
      const name = request.prefixIds?.[Math.floor(i / perPiece)];
      if (name === undefined) break;
      const piece = this.#pieceNamed(name, perPiece);
      const end = Math.min(until, (Math.floor(i / perPiece) + 1) * perPiece);
      for (; i < end; i += 1) this.#publish(request.blocks[i]!, piece, i % perPiece);
    }
    request.sealTokens = this.#nextSeal(request, request.computed);
  }

  release(request: EngineRequest, again = false): void {
    if (again) this.#publishOwn(request);
    const { blocks } = request;
    for (let i = blocks.length - 1; i >= 0; i -= 1) this.#letGo(blocks[i]!);
    request.blocks = [];
    request.reservedTokens = 0;
    request.sealTokens = Number.POSITIVE_INFINITY;
  }

  check(holders: Iterable<EngineRequest>): void {
    assert(heldTokens(holders) - this.sharedTokens === this.reservedTokens, "blocks are conserved");
    let listed = 0;
    for (let at = this.#next[this.#end]!; at !== this.#end; at = this.#next[at]!) {
      assert(this.#references[at] === 0, "a free block has no holder");
      listed += 1;
    }
    assert(listed === this.#free, "the free list holds the free blocks");
    for (const { blocks, found } of this.#pieces.values()) {
      const there = blocks.reduce((sum, block) => (block === NONE ? sum : sum + 1), 0);
      assert(there === found && found > 0, "what has a name can be found");
    }
  }

  /** Adds what can be found of one more piece to `#found`; answers whether that was all that the piece may hold. */
  #findPiece(request: EngineRequest, longest: number): boolean {
    const { blockTokens } = this;
    const from = this.#foundCount;
    const perPiece = this.#blocksPerPiece;
    const wholeNamed = Math.floor(request.promptTokens / blockTokens);
    const name = from < wholeNamed ? request.prefixIds?.[Math.floor(from / perPiece)] : undefined;
    const named = name === undefined ? undefined : this.#pieces.get(name)?.blocks;
    const own = request.ownName === 0 ? undefined : this.#pieces.get(request.ownName)?.blocks;
    if (named === undefined && own === undefined) return false;
    const until = Math.min(longest, (Math.floor(from / perPiece) + 1) * perPiece);
    for (let i = from; i < until; i += 1) {
      let block = i < wholeNamed ? (named?.[i % perPiece] ?? NONE) : NONE;
      if (block === NONE) block = own?.[i] ?? NONE;
      if (block === NONE) return false;
      this.#found[this.#foundCount] = block;
      this.#foundCount += 1;
    }
    return true;
  }

  /** First multiple of the block above `computed` at which there is a named block to publish. */
  #nextSeal(request: EngineRequest, computed: number): number {
    const next = (Math.floor(computed / this.blockTokens) + 1) * this.blockTokens;
    const named = request.prefixIds === undefined ? 0 : request.promptTokens;
    return next <= named ? next : Number.POSITIVE_INFINITY;
  }

  /** What a thrown-out request has computed, its own answer included, can be found by itself when it comes back. */
  #publishOwn(request: EngineRequest): void {
    const full = Math.floor(request.computed / this.blockTokens);
    if (full === 0) return;
    if (request.ownName === 0) {
      request.ownName = this.#lastOwnName;
      this.#lastOwnName -= 1;
    }
    const piece = this.#pieceNamed(request.ownName, full);
    // It has got longer since the request was last thrown out.
    while (piece.blocks.length < full) piece.blocks.push(NONE);
    for (let i = 0; i < full; i += 1) {
      const earlier = piece.blocks[i]!;
      if (earlier === request.blocks[i]) continue;
      // What it left behind before and could not take over is older and will be given away first: the new one counts.
      if (earlier !== NONE) this.#forget(earlier);
      this.#publish(request.blocks[i]!, piece, i);
    }
  }

  #pieceNamed(name: number, length: number): Piece {
    const known = this.#pieces.get(name);
    return known ?? { name, blocks: new Array<number>(length).fill(NONE), found: 0 };
  }

  #publish(block: number, piece: Piece, place: number): void {
    // Somebody else computed the same at the same time: the first stays, this one cannot be found.
    if (piece.blocks[place] !== NONE || this.#placeOf[block] !== NONE) return;
    if (piece.found === 0) this.#pieces.set(piece.name, piece);
    piece.blocks[place] = block;
    piece.found += 1;
    this.#pieceOf[block] = piece;
    this.#placeOf[block] = place;
  }

  #forget(block: number): void {
    const place = this.#placeOf[block]!;
    if (place === NONE) return;
    this.#placeOf[block] = NONE;
    const piece = this.#pieceOf[block]!;
    this.#pieceOf[block] = undefined;
    piece.blocks[place] = NONE;
    piece.found -= 1;
    if (piece.found === 0) this.#pieces.delete(piece.name);
  }

  #hold(block: number): void {
    if (this.#references[block] === 0) this.#unlink(block);
    else this.#shared += 1;
    this.#references[block]! += 1;
  }

  /** The oldest free blocks, to the places `from` up to `to`: one walk along the list, which is then shortened once. */
  #takeInto(blocks: number[], from: number, to: number): void {
    assert(to - from <= this.#free, "blocks are free");
    let block = this.#next[this.#end]!;
    for (let i = from; i < to; i += 1) {
      this.#forget(block);
      this.#references[block] = 1;
      blocks[i] = block;
      block = this.#next[block]!;
    }
    this.#next[this.#end] = block;
    this.#previous[block] = this.#end;
    this.#free -= to - from;
  }

  #letGo(block: number): void {
    const left = this.#references[block]! - 1;
    assert(left >= 0, "no block is let go twice");
    this.#references[block] = left;
    if (left > 0) {
      this.#shared -= 1;
      return;
    }
    const last = this.#previous[this.#end]!;
    this.#next[last] = block;
    this.#previous[block] = last;
    this.#next[block] = this.#end;
    this.#previous[this.#end] = block;
    this.#free += 1;
  }

  #unlink(block: number): void {
    this.#next[this.#previous[block]!] = this.#next[block]!;
    this.#previous[this.#next[block]!] = this.#previous[block]!;
    this.#free -= 1;
  }
}
