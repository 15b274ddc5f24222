/**
 * Chance that nobody can foretell, for keys: the host's cryptographic source. `Random` is for everything else, since a
 * simulation has to repeat itself and a key must not.
 */
export type SecretBytes = (count: number) => Uint8Array;

export const secretBytes: SecretBytes = (count) =>
  globalThis.crypto.getRandomValues(new Uint8Array(count));
