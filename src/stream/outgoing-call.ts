/**
 * What has been written of one tool call. Arguments go out as they come, byte for byte; a call that has no name yet holds
 * them until it gets one, since no wire can name a call later.
 */
export class OutgoingCall {
  /** Where the call stands on the target's wire. */
  readonly index: number;
  readonly hasName: boolean;
  #held = "";
  #hasArguments = false;
  hasEnded = false;

  constructor(index: number, name: string) {
    this.index = index;
    this.hasName = name !== "";
  }

  /** @returns what of it may be written now. */
  pass(json: string): string {
    this.#hasArguments ||= json.trim() !== "";
    if (this.hasName) return json;
    // Bounded by the decoder's limit on the arguments of a response.
    this.#held += json;
    return "";
  }

  /**
   * The call has ended.
   * @param whole its arguments, which may have come in no piece at all.
   * @returns what is left to write.
   */
  rest(whole: string): string {
    this.hasEnded = true;
    const held = this.#held;
    this.#held = "";
    return this.#hasArguments ? held : whole;
  }
}
