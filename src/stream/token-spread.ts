/**
 * How many tokens were in each chunk, when only their sum is known: in proportion to a weight, rounded by largest
 * remainder, so that the parts sum to the whole exactly. A chunk with output has a token, wherever there are enough.
 */

/**
 * @param total whole tokens, 0 to 10⁹.
 * @param weights of the chunks, ≥ 0, at least one.
 * @returns one count a chunk, summing to `total`. The first chunk has a token if there is one, and the last if there are
 *   two: they carried output, and the time between them is the time that the tokens took. Every chunk has one if there are
 *   as many tokens as chunks; without it a short word's gap would be counted into its neighbour's.
 */
export function spreadTokens(total: number, weights: readonly number[]): number[] {
  const exact = exactShares(total, weights);
  const counts: number[] = [];
  let missing = total;
  for (let i = 0; i < exact.length; i += 1) {
    const count = Math.floor(exact[i]!);
    counts.push(count);
    missing -= count;
  }
  if (missing > 0) giveByRemainder(counts, exact, missing);
  // A share just below a whole number may have been rounded up to it.
  if (missing < 0) counts[largest(counts)]! += missing;
  if (total >= counts.length) giveEachOne(counts);
  if (total >= 1) giveOne(counts, 0);
  if (total >= 2) giveOne(counts, counts.length - 1);
  return counts;
}

function exactShares(total: number, weights: readonly number[]): Float64Array {
  const shares = new Float64Array(weights.length);
  let sum = 0;
  for (let i = 0; i < weights.length; i += 1) sum += weights[i]!;
  for (let i = 0; i < weights.length; i += 1) {
    shares[i] = sum === 0 ? total / weights.length : (total * weights[i]!) / sum;
  }
  return shares;
}

/** One more to each of the `missing` largest remainders, the earlier one first where they are equal. */
function giveByRemainder(counts: number[], exact: Float64Array, missing: number): void {
  const left = exact.map((share, i) => share - counts[i]!);
  const byRemainder = [...counts.keys()].sort((a, b) => left[b]! - left[a]! || a - b);
  for (const chunk of byRemainder.slice(0, missing)) counts[chunk]! += 1;
}

/** Takes from those that have more than one, the largest first and each in turn, for those that have none. */
function giveEachOne(counts: number[]): void {
  const without = [...counts.keys()].filter((chunk) => counts[chunk] === 0);
  if (without.length === 0) return;
  const donors = [...counts.keys()].sort((a, b) => counts[b]! - counts[a]! || a - b);
  while (without.length > 0) {
    for (const donor of donors) {
      if (without.length === 0 || counts[donor]! <= 1) break;
      counts[donor]! -= 1;
      counts[without.pop()!] = 1;
    }
  }
}

/** Gives a chunk without tokens one from the chunk that has most to spare; the first keeps one, so there must be enough. */
function giveOne(counts: number[], chunk: number): void {
  if (counts[chunk]! > 0) return;
  const spare = (i: number): number => (i === 0 ? counts[i]! - 1 : counts[i]!);
  let donor = 0;
  for (let i = 1; i < counts.length; i += 1) if (spare(i) > spare(donor)) donor = i;
  counts[donor]! -= 1;
  counts[chunk]! += 1;
}

function largest(counts: readonly number[]): number {
  return counts.reduce((best, count, i) => (count > counts[best]! ? i : best), 0);
}
