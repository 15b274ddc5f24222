/**
 * What is declared about speculative decoding, and the arithmetic that follows: a small draft model proposes k tokens one
 * after the other, the target verifies them in one step and keeps the ones before the first that it would not have
 * written itself, plus its own next token (Leviathan et al., ICML 2023). A step then yields 1 + accepted tokens.
 */
import { assert, ManxError } from "../../core/index.ts";

export interface Speculation {
  /** Tokens proposed for each answer and step, 1 to 16. */
  readonly draftTokens: number;
  /**
   * Probability that a draft is accepted when all before it were, 0 to 1: one for all positions, or one a position. It
   * belongs to a pair of models and a kind of text; measure it, since nothing here can know it.
   */
  readonly acceptance: number | readonly number[];
  /**
   * Price of one draft step as a share of a step of the target on the same answers, 0 (n-gram look-up) to below 1. Also
   * taken as the share that the draft's weights have of the target's.
   */
  readonly draftShare: number;
  /** Of the luck of each request; default 0. */
  readonly seed?: number;
}

const DRAFT_TOKENS_MAX = 16;

/** @throws MANX_CONFIG_IMPOSSIBLE */
export function checkSpeculation(speculation: Speculation): void {
  const { draftTokens, acceptance, draftShare } = speculation;
  const isShare = (value: number): boolean => value >= 0 && value <= 1;
  refuseUnless(
    Number.isInteger(draftTokens) && draftTokens >= 1 && draftTokens <= DRAFT_TOKENS_MAX,
    "draftTokens",
    `a whole number from 1 to ${DRAFT_TOKENS_MAX}`,
    draftTokens,
  );
  const table = typeof acceptance === "number" ? undefined : acceptance;
  refuseUnless(
    table === undefined ? isShare(acceptance as number) : table.every(isShare),
    "acceptance",
    "a probability from 0 to 1",
    acceptance,
  );
  refuseUnless(
    table === undefined || table.length === draftTokens,
    "acceptance",
    `one probability, or one for each of ${draftTokens} positions`,
    acceptance,
  );
  refuseUnless(draftShare >= 0 && draftShare < 1, "draftShare", "from 0 to below 1", draftShare);
}

function refuseUnless(ok: boolean, name: string, expected: string, got: unknown): void {
  if (ok) return;
  throw new ManxError("MANX_CONFIG_IMPOSSIBLE", {
    where: `speculation.${name}`,
    expected: `${name}: ${expected}`,
    got: JSON.stringify(got),
  });
}

/** How many drafts survive: `reach[i]` is the probability that at least i + 1 do. */
export class AcceptanceLaw {
  readonly #reach: readonly number[];

  constructor({ draftTokens, acceptance }: Speculation) {
    let survives = 1;
    this.#reach = Array.from({ length: draftTokens }, (_, position) => {
      survives *= typeof acceptance === "number" ? acceptance : acceptance[position]!;
      return survives;
    });
  }

  /** Mean accepted of the first `drafts`; for one probability p this is p + p² + … */
  mean(drafts: number): number {
    let mean = 0;
    for (let i = 0; i < drafts; i += 1) mean += this.#reach[i]!;
    return mean;
  }

  /** @param luck uniform in [0, 1). */
  accepted(drafts: number, luck: number): number {
    assert(drafts <= this.#reach.length, "no more are drafted than declared");
    let accepted = 0;
    while (accepted < drafts && luck < this.#reach[accepted]!) accepted += 1;
    return accepted;
  }
}

/** `5 drafts, acceptance 0.7, draft step 0.033 of the target's`. */
export function describeSpeculation({ draftTokens, acceptance, draftShare }: Speculation): string {
  const rate = typeof acceptance === "number" ? String(acceptance) : acceptance.join("/");
  const price = `draft step ${Number(draftShare.toPrecision(2))} of the target's`;
  return `${draftTokens} drafts, acceptance ${rate}, ${price}`;
}
