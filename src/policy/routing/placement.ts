/** One request's place on a replica: what it counts there, until it ends. */
export class Placement {
  readonly replica: number;
  /** Prompt and expected output. */
  readonly openTokens: number;
  /** Prompt tokens that the replica is thought to have to compute. */
  readonly newTokens: number;
  readonly atUs: number;
  isPending = true;
  isOpen = true;

  constructor(replica: number, openTokens: number, newTokens: number, atUs: number) {
    this.replica = replica;
    this.openTokens = openTokens;
    this.newTokens = newTokens;
    this.atUs = atUs;
  }
}
