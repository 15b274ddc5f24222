/** A log as evidence for a fit: some of its requests may be looked at, all of them are replayed. */
import type { FitEvidence, FitState } from "./fit-coefficients.ts";
import { type FitRow, rowsOf } from "./fit-rows.ts";
import type { LedgerReplay, LogReplay, ReplayedLog } from "./log-replay.ts";
import { tpotUsOf } from "./request-log.ts";

export class LogEvidence implements FitEvidence<LedgerReplay> {
  readonly #replay: LogReplay;
  readonly #seen: (request: number) => boolean;

  /** @param seen whether this request's measured times may be looked at. */
  constructor(replay: LogReplay, seen: (request: number) => boolean) {
    this.#replay = replay;
    this.#seen = seen;
  }

  /** The earlier and the later half of what may be seen. */
  halves(): readonly LogEvidence[] {
    const seen = this.#replay.requests.map((_, i) => i).filter(this.#seen);
    const middle = seen[Math.floor(seen.length / 2)] ?? 0;
    const part = (isEarly: boolean): LogEvidence =>
      new LogEvidence(this.#replay, (i) => this.#seen(i) && i < middle === isEarly);
    return [part(true), part(false)];
  }

  run({ coefficients, requestUs }: FitState): LedgerReplay {
    return this.#replay.run(coefficients, requestUs);
  }

  rows(twin: LedgerReplay, requestUs: number): Iterable<FitRow> {
    return rowsOf(this.#replay.requests, twin, requestUs, this.#seen);
  }

  /** Over TTFT, TPOT and E2E of each request. */
  loss(twin: ReplayedLog): number {
    let sum = 0;
    let n = 0;
    for (const [i, request] of this.#replay.requests.entries()) {
      if (!this.#seen(i)) continue;
      const [ttftUs, e2eUs] = [twin.ttftUs[i]!, twin.e2eUs[i]!];
      sum += apart(ttftUs, request.ttftUs) + apart(e2eUs, request.e2eUs);
      n += 2;
      const real = tpotUsOf(request);
      const ours = tpotUsOf({ outputTokens: request.outputTokens, ttftUs, e2eUs });
      if (real === undefined || ours === undefined || real <= 0) continue;
      sum += apart(Math.max(1, ours), real);
      n += 1;
    }
    return n === 0 ? 0 : sum / n;
  }
}

function apart(one: number, other: number): number {
  return Math.abs(Math.log(one / other));
}
