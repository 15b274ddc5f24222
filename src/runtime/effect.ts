/**
 * What a tool does to the world, and what follows from it. The one table that dispatch, retry, hedging and cancelling
 * read; docs/how-to/tools-and-dispatch.md shows it.
 *
 * - `pure`: changes nothing that anybody would notice, such as a search.
 * - `idempotent`: changes something, and twice is the same as once, such as setting a status.
 * - `reversible`: changes something that its `undo` takes back, such as a reservation.
 * - `irreversible`: cannot be taken back, such as a mail or a payment.
 */
export type Effect = "pure" | "idempotent" | "reversible" | "irreversible";

export interface EffectRule {
  /** Before the message is whole: the model may still not mean it. A reversible tool needs an `undo` for that. */
  readonly startsEarly: boolean;
  /** A failed run may be followed by another one. */
  readonly repeats: boolean;
  /** A slow run may get a second one beside it. */
  readonly hedges: boolean;
  /** What has been done needs no care when nobody wants it any more. */
  readonly isDisposable: boolean;
}

export const EFFECT_RULES: Readonly<Record<Effect, EffectRule>> = {
  pure: { startsEarly: true, repeats: true, hedges: true, isDisposable: true },
  idempotent: { startsEarly: false, repeats: true, hedges: true, isDisposable: false },
  reversible: { startsEarly: true, repeats: false, hedges: false, isDisposable: false },
  irreversible: { startsEarly: false, repeats: false, hedges: false, isDisposable: false },
};
