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

/** The blocks of one named piece that can be found now; NONE where there is none. */
type Piece = Int32Array;

export class PrefixKv implements KvMemory {
  readonly name = "prefix";
  readonly totalTokens: number;
  readonly blockTokens: number;
  readonly pieceTokens: number;
  readonly #blocksPerPiece: number;
  readonly #pieces = new Map<number, Piece>();
  /** By block: holders, the name and the place under which it can be found, neighbours in the free list. */
  readonly #references: Int32Array;
  readonly #nameOf: Float64Array;
  readonly #placeOf: Int32Array;
  readonly #next: Int32Array;
  readonly #previous: Int32Array;
  /** Index of the list's head and tail sentinel. */
  readonly #end: number;
  #free: number;
  #shared = 0;
  /** Blocks that the last match found; its admission takes them over. */
  readonly #found: number[] = [];
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
    this.#nameOf = new Float64Array(blocks);
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
    this.#found.length = 0;
    this.#foundFor = request;
    while (this.#found.length < longest && this.#findPiece(request, longest)) {
      // The next piece is worth a look only if this one was there to its end.
    }
    return this.#found.length * this.blockTokens;
  }

  admit(request: EngineRequest, tokens: number, cached: number, fitTokens = tokens): boolean {
    const found = this.#found;
    assert(this.#foundFor === request, "a request is matched right before it is admitted");
    assert(found.length * this.blockTokens === cached, "what was matched is what is taken over");
    let idleHits = 0;
    for (const block of found) if (this.#references[block] === 0) idleHits += 1;
    const needed = Math.ceil(fitTokens / this.blockTokens) - found.length;
    if (needed > this.#free - idleHits) return false;
    const missing = Math.ceil(tokens / this.blockTokens) - found.length;
    const blocks = found.slice();
    for (const block of found) this.#hold(block);
    for (let i = 0; i < missing; i += 1) blocks.push(this.#take());
    request.blocks = blocks;
    request.reservedTokens = blocks.length * this.blockTokens;
    request.sealTokens = this.#nextSeal(request, cached);
    return true;
  }

  reserve(request: EngineRequest, tokens: number): boolean {
    const missing = Math.ceil((tokens - request.reservedTokens) / this.blockTokens);
    if (missing <= 0) return true;
    if (missing > this.#free) return false;
    if (request.blocks.length === 0) request.blocks = [];
    for (let i = 0; i < missing; i += 1) request.blocks.push(this.#take());
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
      const piece = this.#pieceOf(name, perPiece);
      const end = Math.min(until, (Math.floor(i / perPiece) + 1) * perPiece);
      for (; i < end; i += 1) this.#publish(request.blocks[i]!, piece, name, i % perPiece);
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
  }

  /** Adds what can be found of one more piece to `#found`; answers whether that was all that the piece may hold. */
  #findPiece(request: EngineRequest, longest: number): boolean {
    const { blockTokens } = this;
    const from = this.#found.length;
    const perPiece = this.#blocksPerPiece;
    const wholeNamed = Math.floor(request.promptTokens / blockTokens);
    const name = from < wholeNamed ? request.prefixIds?.[Math.floor(from / perPiece)] : undefined;
    const named = name === undefined ? undefined : this.#pieces.get(name);
    const own = request.ownName === 0 ? undefined : this.#pieces.get(request.ownName);
    if (named === undefined && own === undefined) return false;
    const until = Math.min(longest, (Math.floor(from / perPiece) + 1) * perPiece);
    for (let i = from; i < until; i += 1) {
      let block = i < wholeNamed ? (named?.[i % perPiece] ?? NONE) : NONE;
      if (block === NONE) block = own?.[i] ?? NONE;
      if (block === NONE) return false;
      this.#found.push(block);
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
    const piece = this.#longerPiece(request.ownName, full);
    for (let i = 0; i < full; i += 1) {
      const earlier = piece[i]!;
      if (earlier === request.blocks[i]) continue;
      // What it left behind before and could not take over is older and will be given away first: the new one counts.
      if (earlier !== NONE) this.#placeOf[earlier] = NONE;
      piece[i] = NONE;
      this.#publish(request.blocks[i]!, piece, request.ownName, i);
    }
  }

  /** The piece of this name with at least `length` places; it has got longer since the request was last thrown out. */
  #longerPiece(name: number, length: number): Piece {
    const old = this.#pieces.get(name);
    if (old !== undefined && old.length >= length) return old;
    const piece = new Int32Array(length).fill(NONE);
    if (old !== undefined) piece.set(old);
    this.#pieces.set(name, piece);
    return piece;
  }

  #pieceOf(name: number, length: number): Piece {
    let piece = this.#pieces.get(name);
    if (piece === undefined) {
      piece = new Int32Array(length).fill(NONE);
      this.#pieces.set(name, piece);
    }
    return piece;
  }

  #publish(block: number, piece: Piece, name: number, place: number): void {
    // Somebody else computed the same at the same time: the first stays, this one cannot be found.
    if (piece[place] !== NONE || this.#placeOf[block] !== NONE) return;
    piece[place] = block;
    this.#nameOf[block] = name;
    this.#placeOf[block] = place;
  }

  #forget(block: number): void {
    const place = this.#placeOf[block]!;
    if (place === NONE) return;
    this.#placeOf[block] = NONE;
    const name = this.#nameOf[block]!;
    const piece = this.#pieces.get(name);
    if (piece === undefined) return;
    piece[place] = NONE;
    // Blocks of a piece are forgotten last to first, so the first place empty means that none is left.
    if (piece[0] === NONE && piece.every((other) => other === NONE)) this.#pieces.delete(name);
  }

  #hold(block: number): void {
    if (this.#references[block] === 0) this.#unlink(block);
    else this.#shared += 1;
    this.#references[block]! += 1;
  }

  #take(): number {
    const block = this.#next[this.#end]!;
    assert(block !== this.#end, "a block is free");
    this.#forget(block);
    this.#unlink(block);
    this.#references[block] = 1;
    return block;
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
