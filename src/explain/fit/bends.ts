/**
 * Where the bend of a fitted cost may be: so many tokens of a step ride along with the reading of the weights for nothing.
 * The price is not linear in it, so it is chosen from a list. Hardware puts it at FLOPS / bandwidth, from some tens (a small
 * GPU, 8-bit weights) to several hundred.
 */
export const BENDS: readonly number[] = [
  0, 32, 64, 96, 128, 160, 192, 256, 320, 384, 512, 768, 1_024,
];
