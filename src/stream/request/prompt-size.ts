/** The size of a prompt as well as it can be told without its model's tokenizer. */

/** Bytes of a request's JSON per token of its prompt, about: English text has four a token, and JSON around it. */
const BYTES_PER_TOKEN = 4.5;

export function promptTokensAbout(bodyBytes: number): number {
  return Math.ceil(bodyBytes / BYTES_PER_TOKEN);
}
