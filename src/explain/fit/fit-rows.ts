/**
 * What a replay's schedule and the log say together: for each wait for a first token, and for each piece of an answer, how
 * much of each kind of work the twin did meanwhile, and how long the log says that it took. Where the log has the gaps
 * between tokens an answer gives several rows: which prompts fell into which part of it tells prompts from answers.
 */
import type { LedgerReplay } from "./log-replay.ts";
import type { LoggedRequest } from "./request-log.ts";
import { COLUMNS } from "./step-ledger.ts";

export interface FitRow {
  /** The ledger's columns, then 1 if what a request takes outside of steps is in it. Reused by the next row. */
  readonly x: Float64Array;
  readonly logUs: number;
  readonly twinUs: number;
  /** Share of one row: the pieces of an answer count as one together. */
  readonly weight: number;
}

/** Place in `x` of what a request takes outside of steps. */
export const OUTSIDE = COLUMNS;
const PIECES_MAX = 8;
/** Of fewer tokens a piece is at the mercy of which step a prompt fell into. */
const PIECE_TOKENS_MIN = 8;

export function* rowsOf(
  requests: readonly LoggedRequest[],
  twin: LedgerReplay,
  requestUs: number,
  seen: (request: number) => boolean,
): Generator<FitRow> {
  const x = new Float64Array(COLUMNS + 1);
  for (const [i, request] of requests.entries()) {
    if (!seen(i)) continue;
    const firstUs = request.atUs + twin.ttftUs[i]! - requestUs;
    twin.ledger.between(request.atUs, firstUs, x);
    x[OUTSIDE] = 1;
    yield { x, logUs: request.ttftUs, twinUs: twin.ttftUs[i]!, weight: 1 };
    x[OUTSIDE] = 0;
    const lastUs = request.atUs + twin.e2eUs[i]! - requestUs;
    for (const piece of piecesOf(request, twin.gapsUs.get(i), firstUs, lastUs)) {
      if (piece.logUs <= 0) continue;
      twin.ledger.between(piece.fromUs, piece.toUs, x);
      yield { x, logUs: piece.logUs, twinUs: piece.toUs - piece.fromUs, weight: piece.weight };
    }
  }
}

interface Piece {
  readonly fromUs: number;
  readonly toUs: number;
  readonly logUs: number;
  readonly weight: number;
}

function* piecesOf(
  { outputTokens, ttftUs, e2eUs, gapsUs }: LoggedRequest,
  twinGapsUs: readonly number[] | undefined,
  firstUs: number,
  lastUs: number,
): Generator<Piece> {
  if (outputTokens < 2) return;
  const count = Math.min(PIECES_MAX, Math.floor((outputTokens - 1) / PIECE_TOKENS_MIN));
  if (gapsUs === undefined || twinGapsUs === undefined || count < 2) {
    yield { fromUs: firstUs, toUs: lastUs, logUs: e2eUs - ttftUs, weight: 1 };
    return;
  }
  let fromUs = firstUs;
  for (let piece = 0; piece < count; piece += 1) {
    const begin = Math.floor((piece * gapsUs.length) / count);
    const end = Math.floor(((piece + 1) * gapsUs.length) / count);
    const toUs = fromUs + sum(twinGapsUs, begin, end);
    yield { fromUs, toUs, logUs: sum(gapsUs, begin, end), weight: 1 / count };
    fromUs = toUs;
  }
}

function sum(values: readonly number[], begin: number, end: number): number {
  let total = 0;
  for (let i = begin; i < end; i += 1) total += values[i]!;
  return total;
}
