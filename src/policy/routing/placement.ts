/** One request's place on a replica: what it counts there, until it ends. */
export class Placement {
  readonly replica: number;
  /** Prompt and expected output. */
  readonly openTokens: number;
  /** Prompt tokens that the replica is thought not to hold. */
  readonly newTokens: number;
  readonly atUs: number;
  /** Of these, what it has to compute itself and has not yet. */
  pendingTokens = 0;
  isPending = false;
  isOpen = true;

  constructor(replica: number, openTokens: number, newTokens: number, atUs: number) {
    this.replica = replica;
    this.openTokens = openTokens;
    this.newTokens = newTokens;
    this.atUs = atUs;
  }
}
