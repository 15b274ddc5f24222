import { lightest } from "./lightest.ts";
import type { RoutedRequest, Router } from "./router.ts";

/** The replica with the fewest open tokens; ties go round, so that replica 0 is not everybody's first choice. */
export class LeastLoad implements Router {
  readonly name = "least-load";
  #start = 0;

  pick(_: RoutedRequest, openTokens: readonly number[]): number {
    const picked = lightest(openTokens, this.#start);
    this.#start = (picked + 1) % openTokens.length;
    return picked;
  }
}
