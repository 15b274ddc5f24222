/** How one gateway is, as plain data for its operators: never a secret, and bounded. */
import { US_PER_MS } from "../core/index.ts";
import type { AdmissionSnapshot } from "../policy/index.ts";
import type { DrainedPlace } from "./drained-places.ts";
import type { BudgetLedger, KeyRing } from "./keys/index.ts";
import type { SharedFacts } from "./shared-state/index.ts";
import type { Wiring } from "./wiring.ts";

export interface GatewayReport {
  readonly inFlight: number;
  readonly upstreams: readonly object[];
  readonly drained: readonly DrainedPlace[];
  readonly models: readonly ModelReport[];
  /** null: whatever comes is let in. */
  readonly admission: AdmissionSnapshot | null;
  /** Of keys that have a budget; those that stand first in the list of keys, at most `BUDGETS_MAX`. */
  readonly budgets: readonly BudgetReport[];
  /** null: nothing is shared with other gateways. */
  readonly shared: SharedFacts | null;
}

export interface ModelReport {
  readonly name: string;
  readonly targets: readonly {
    readonly name: string;
    readonly upstream: string;
    readonly breaker: string;
    readonly breakerOpened: number;
    /** ms until it is worth another look; 0 if it can be used, null if nobody knows. */
    readonly availableInMs: number | null;
    readonly isDrained: boolean;
  }[];
}

export interface BudgetReport {
  readonly key: string;
  readonly tenant: string;
  readonly spent: ReturnType<BudgetLedger["spentBy"]>;
  readonly budget: object;
}

export interface ReportParts {
  readonly nowUs: number;
  readonly wallMs: number;
  readonly inFlight: number;
  readonly wiring: Wiring;
  readonly drained: readonly DrainedPlace[];
  readonly admission: AdmissionSnapshot | undefined;
  readonly keys: KeyRing | null;
  readonly ledger: BudgetLedger;
  readonly shared: SharedFacts | null;
}

const BUDGETS_MAX = 1_000;

export function gatewayReport(parts: ReportParts): GatewayReport {
  const { inFlight, wiring, drained, admission, shared } = parts;
  return {
    inFlight,
    upstreams: [...wiring.upstreams.values()].map((upstream) => upstream.shown()),
    drained,
    models: modelReports(parts),
    admission: admission ?? null,
    budgets: budgetReports(parts),
    shared,
  };
}

function modelReports({ wiring, nowUs }: ReportParts): ModelReport[] {
  return wiring.routes.all.map(({ name, call, lines }) => ({
    name,
    targets: call.targets.map((target, at) => {
      const waitUs = Math.max(0, target.availableUs - nowUs);
      return {
        name: target.name,
        upstream: lines[at]!.upstream.name,
        breaker: target.breakerAt(nowUs),
        breakerOpened: target.breakerOpened,
        availableInMs: Number.isFinite(waitUs) ? Math.ceil(waitUs / US_PER_MS) : null,
        isDrained: target.isDrained,
      };
    }),
  }));
}

function budgetReports({ keys, ledger, wallMs }: ReportParts): BudgetReport[] {
  return (keys?.holders ?? [])
    .filter(({ budget }) => Object.values(budget).some((limit) => limit !== null))
    .slice(0, BUDGETS_MAX)
    .map(({ keyId, tenant, budget }) => {
      return { key: `mk_${keyId}`, tenant, spent: ledger.spentBy(keyId, wallMs), budget };
    });
}
