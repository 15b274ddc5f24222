/** What every router answers: which replica gets a request. The same object routes simulated replicas and live ones. */

export interface RoutedRequest {
  /**
   * Names of the prompt's blocks from the start; empty if unknown. A name stands for all up to its end: equal names are
   * equal prefixes.
   */
  readonly prefixIds: readonly number[];
  /** Of the prompt; left out if unknown. */
  readonly tokens?: number;
}

export interface Router {
  readonly name: string;
  /** Of the last pick: prompt tokens that its replica has to compute, as far as the router knows. */
  readonly newTokens?: number;
  /**
   * @param openTokens by replica: tokens of its open requests, prompt and expected output.
   * @param pendingTokens by replica: of these, the ones still to be computed before a first token; none if left out.
   * @returns index of the replica. The choice is remembered, so ask once per request.
   */
  pick(
    request: RoutedRequest,
    openTokens: readonly number[],
    pendingTokens?: readonly number[],
  ): number;
}
