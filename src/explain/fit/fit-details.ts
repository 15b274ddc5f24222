/** What every fit is told beside its evidence, and the part of the document that every fit writes alike. */
import { isoTime } from "../../clock/index.ts";
import {
  type CoefficientName,
  describeConfig,
  type EngineConfig,
  FITTED_COST_VERSION,
} from "../../engine/index.ts";
import { VERSION } from "../../version.ts";
import type { Finding } from "./finding.ts";
import type { FitState } from "./fit-coefficients.ts";
import type { FittedDocument } from "./fitted-document.ts";

export interface FitDetails {
  /** As the engine was run. Its cost is the data sheet's that the fit starts from. */
  readonly config: EngineConfig;
  /** Of the evidence, in one fit. */
  readonly replaysMax: number;
  readonly startedMs: number;
  /** Repeats the fit; must hold no secret. */
  readonly command: string;
  /** Waited for after each replay, so that a long fit can be watched and interrupted. */
  readonly onProgress?: (text: string, share: number) => Promise<void> | void;
}

type Judgement = Pick<FittedDocument, "error" | "quantiles" | "sheetError" | "notes">;

export function fittedDocument(
  { config, startedMs, command }: FitDetails,
  { coefficients, requestUs }: FitState,
  findings: readonly Finding[],
  on: { readonly source: string; readonly requests: number },
  judgement: Judgement,
): FittedDocument {
  return {
    kind: "fitted-cost",
    schemaVersion: FITTED_COST_VERSION,
    coefficients,
    requestUs,
    fittedOn: {
      ...on,
      undetermined: findings
        .filter(({ determined, name }) => !determined && name !== "requestUs")
        .map(({ name }) => name as CoefficientName),
    },
    engine: describeConfig(config),
    findings: [...findings],
    ...judgement,
    startedAt: isoTime(startedMs),
    command,
    manx: VERSION,
  };
}
