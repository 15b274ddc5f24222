/** A KV memory round another one, to change what a single call means. */
import type { KvMemory } from "../kv-memory.ts";
import type { EngineRequest } from "../request.ts";

export abstract class DelegatedKv implements KvMemory {
  protected readonly inner: KvMemory;

  constructor(inner: KvMemory) {
    this.inner = inner;
  }

  get name(): KvMemory["name"] {
    return this.inner.name;
  }

  get totalTokens(): number {
    return this.inner.totalTokens;
  }

  get reservedTokens(): number {
    return this.inner.reservedTokens;
  }

  get sharedTokens(): number {
    return this.inner.sharedTokens;
  }

  canEverHold(tokens: number): boolean {
    return this.inner.canEverHold(tokens);
  }

  match(request: EngineRequest): number {
    return this.inner.match(request);
  }

  admit(request: EngineRequest, tokens: number, cached: number, fitTokens = tokens): boolean {
    return this.inner.admit(request, tokens, cached, fitTokens);
  }

  reserve(request: EngineRequest, tokens: number): boolean {
    return this.inner.reserve(request, tokens);
  }

  seal(request: EngineRequest): void {
    this.inner.seal(request);
  }

  release(request: EngineRequest, again?: boolean): void {
    this.inner.release(request, again);
  }

  check(holders: Iterable<EngineRequest>): void {
    this.inner.check(holders);
  }
}
