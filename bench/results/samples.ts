/** Samples of a trace, for a band over what another hour of the same service could have been. */
import { Random } from "../../src/clock/index.ts";
import { US_PER_S } from "../../src/core/index.ts";
import type { WorkRequest } from "../../src/load/index.ts";

const MINUTE_US = 60 * US_PER_S;
const KEPT_SHARE = 0.9;

export type Sample = (requests: readonly WorkRequest[], seed: number) => WorkRequest[];

/** As many minutes as the trace has, each a minute of it: rate and lengths stay, bursts come in another order. */
export const redrawMinutes: Sample = (requests, seed) => {
  const random = new Random(seed, "minutes");
  const minutes: WorkRequest[][] = [];
  for (const request of requests) {
    const minute = Math.floor(request.atUs / MINUTE_US);
    while (minutes.length <= minute) minutes.push([]);
    minutes[minute]!.push(request);
  }
  return minutes.flatMap((_, place) => {
    const drawn = random.int(minutes.length);
    const shiftUs = (place - drawn) * MINUTE_US;
    return minutes[drawn]!.map((request) => ({ ...request, atUs: request.atUs + shiftUs }));
  });
};

/** Nine requests in ten: drawing one twice would be a prefix hit that nobody had. */
export const thin: Sample = (requests, seed) => {
  const random = new Random(seed, "thinning");
  return requests.filter(() => random.next() < KEPT_SHARE);
};
