/**
 * KV with a prefix memory of single tokens in a radix tree, as SGLang keeps it (RadixAttention, Zheng et al., NeurIPS 2024):
 * a match may end at any token, and there is no block whose rest is lost.
 *
 *     total = free + private (of running requests) + held (in the tree, in use) + idle (in the tree, evictable)
 *
 * What a request has computed of its named prompt goes into the tree after each step; what is there already is given back.
 * Idle leaves are evicted whole, the longest unused first; a node in use never is.
 *
 * A name stands for a whole piece of `pieceTokens` tokens, so inside a piece two prompts can only be told apart as a whole:
 * prompts with different names for a piece share nothing of it, with equal names all that both have. With pieces of one
 * token the match is exact. The answer of a finished request has no name by which anybody could find it, and is not kept.
 */
import { assert } from "../core/index.ts";
import { heldTokens, type KvMemory } from "./kv-memory.ts";
import { type RadixNode, RadixTree, type Run, splitRuns } from "./radix-tree.ts";
import type { EngineRequest } from "./request.ts";

export class RadixKv implements KvMemory {
  readonly name = "radix";
  readonly totalTokens: number;
  readonly pieceTokens: number;
  readonly #tree = new RadixTree();
  /** By request that has been let in: where its part of the tree ends. What it holds beyond is its own. */
  readonly #paths = new Map<EngineRequest, RadixNode>();
  #free: number;
  #found: { node: RadixNode; tokens: number };
  #foundFor: EngineRequest | undefined;
  /** Names for what requests leave that were thrown out; below zero, so they never meet a prompt's. */
  #lastOwnName = -1;

  constructor(totalTokens: number, pieceTokens: number) {
    assert(pieceTokens >= 1, "a piece has tokens");
    this.totalTokens = totalTokens;
    this.pieceTokens = pieceTokens;
    this.#free = totalTokens;
    this.#found = { node: this.#tree.root, tokens: 0 };
  }

  get reservedTokens(): number {
    return this.totalTokens - this.#free - this.#tree.idleTokens;
  }

  get sharedTokens(): number {
    return this.#tree.sharedTokens;
  }

  canEverHold(tokens: number): boolean {
    return tokens <= this.totalTokens;
  }

  match(request: EngineRequest): number {
    this.#foundFor = request;
    this.#found = this.#tree.find(this.#runsOf(request, request.known), request.known - 1);
    return this.#found.tokens;
  }

  admit(request: EngineRequest, tokens: number, cached: number, fitTokens = tokens): boolean {
    const { node, tokens: found } = this.#found;
    assert(this.#foundFor === request, "a request is matched right before it is admitted");
    assert(found === cached, "what was matched is what is taken over");
    const evictable = this.#tree.idleTokens - this.#tree.idleAbove(node, cached);
    if (fitTokens - cached > this.#free + evictable) return false;
    const path = this.#tree.cut(node, cached);
    this.#tree.hold(path);
    this.#take(tokens - cached);
    this.#paths.set(request, path);
    this.#foundFor = undefined;
    request.reservedTokens = tokens;
    request.sealTokens = this.#nextSeal(request, cached);
    return true;
  }

  reserve(request: EngineRequest, tokens: number): boolean {
    const missing = tokens - request.reservedTokens;
    if (missing <= 0) return true;
    if (missing > this.#free + this.#tree.idleTokens) return false;
    this.#take(missing);
    request.reservedTokens = tokens;
    return true;
  }

  seal(request: EngineRequest): void {
    this.#publish(request, Math.min(request.computed, this.#namedTokens(request)));
    request.sealTokens = this.#nextSeal(request, request.computed);
  }

  /** One that was thrown out finds all that it had, its answer included, if nobody needs the memory meanwhile. */
  release(request: EngineRequest, again = false): void {
    if (again && request.computed > 0) {
      if (request.ownName === 0) {
        request.ownName = this.#lastOwnName;
        this.#lastOwnName -= 1;
      }
      this.#publish(request, request.computed);
    }
    const path = this.#paths.get(request) ?? this.#tree.root;
    this.#free += request.reservedTokens - path.end;
    this.#tree.letGo(path);
    this.#paths.delete(request);
    request.reservedTokens = 0;
    request.sealTokens = Number.POSITIVE_INFINITY;
  }

  check(holders: Iterable<EngineRequest>): void {
    const running = [...holders];
    const held = heldTokens(running) - this.sharedTokens;
    assert(held === this.reservedTokens, "tokens are conserved");
    assert(this.#free >= 0, "no token is given out twice");
    for (const request of this.#paths.keys()) assert(running.includes(request), "paths are held");
    this.#tree.check(this.#paths.values());
  }

  /** Moves what the request has computed up to `depth` into the tree, and gives back what is there already. */
  #publish(request: EngineRequest, depth: number): void {
    let path = this.#paths.get(request) ?? this.#tree.root;
    const runs = this.#runsOf(request, depth);
    while (path.end < depth) {
      const [, rest] = splitRuns(runs, path.end);
      const { node, tokens } = this.#tree.find(runs, depth);
      const before = path;
      if (tokens > path.end) {
        path = this.#tree.cut(node, tokens);
        this.#free += tokens - before.end;
      } else {
        path = this.#tree.grow(path, rest);
      }
      this.#tree.hold(path, before);
    }
    this.#paths.set(request, path);
  }

  #take(tokens: number): void {
    while (this.#free < tokens) this.#free += this.#tree.evict();
    this.#free -= tokens;
  }

  #nextSeal(request: EngineRequest, computed: number): number {
    return computed < this.#namedTokens(request) ? computed + 1 : Number.POSITIVE_INFINITY;
  }

  #namedTokens(request: EngineRequest): number {
    return Math.min(request.promptTokens, (request.prefixIds?.length ?? 0) * this.pieceTokens);
  }

  /** The first `depth` tokens by name; those without one only if the request has left some under a name of its own. */
  #runsOf(request: EngineRequest, depth: number): Run[] {
    const runs: Run[] = [];
    const named = Math.min(depth, this.#namedTokens(request));
    for (let at = 0; at < named; at += this.pieceTokens) {
      const name = request.prefixIds![at / this.pieceTokens]!;
      runs.push({ name, tokens: Math.min(this.pieceTokens, named - at) });
    }
    if (named < depth && request.ownName !== 0) {
      runs.push({ name: request.ownName, tokens: depth - named });
    }
    return runs;
  }
}
