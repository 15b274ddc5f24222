/** Requests and machines for tests of admission. */
import {
  Admission,
  type AdmissionOptions,
  type AdmissionRequest,
  type Decision,
  type LaneOptions,
  type Outcome,
} from "../../src/policy/index.ts";

const NEVER = Number.POSITIVE_INFINITY;
export const ONE_LANE: readonly LaneOptions[] = [
  { name: "all", tokensMax: NEVER, share: 0, tokensInFlightMax: NEVER },
];
export const TWO_LANES: readonly LaneOptions[] = [
  { name: "short", tokensMax: 1_000, share: 0.5, tokensInFlightMax: NEVER },
  { name: "long", tokensMax: NEVER, share: 0, tokensInFlightMax: 50_000 },
];

let ids = 0;
/** One of 100 tokens, 1 of them predicted answer, unless told otherwise. */
export function request(parts: Partial<AdmissionRequest> = {}): AdmissionRequest {
  ids += 1;
  return {
    id: ids,
    tenant: "a",
    priority: 0,
    inputTokens: 99,
    outputTokensMax: 1,
    route: "m",
    deadlineUs: NEVER,
    ...parts,
  };
}

export function machine(limit: number, options: AdmissionOptions = {}): Admission {
  return new Admission({ lanes: ONE_LANE, concurrency: { kind: "fixed", limit }, ...options });
}

export const DONE: Outcome = { inputTokens: 99, outputTokens: 1, ttftUs: undefined, ok: true };

/** As predicted. */
export function doneAs({ inputTokens, outputTokensMax }: AdmissionRequest): Outcome {
  return { ...DONE, inputTokens, outputTokens: outputTokensMax ?? 512 };
}

export const idsOf = (decisions: readonly Decision[]): number[] =>
  decisions.map((one) => (one.kind === "admit" ? one.id : -one.id));
