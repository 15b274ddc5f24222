import type { RoutedRequest, Router } from "./router.ts";

/** Each in turn, whatever the load: what a plain load balancer does. */
export class RoundRobin implements Router {
  readonly name = "round-robin";
  #next = 0;

  pick(_: RoutedRequest, openTokens: readonly number[]): number {
    const picked = this.#next % openTokens.length;
    this.#next = picked + 1;
    return picked;
  }
}
