/** What others keep and the page shows as it is now: connections, breakers, budgets, queues, replicas. */
import { US_PER_S } from "../../core/index.ts";
import type { AdmissionSnapshot } from "../../policy/index.ts";
import type { ModelRoute } from "../model-routes.ts";
import type { SharedFacts } from "../shared-state/index.ts";
import type { Upstream } from "../upstream.ts";
import type { PoolCounts, UpstreamPool } from "../upstream-pool.ts";
import { LabelBook } from "./label-book.ts";
import type { Reading } from "./metric-family.ts";
import type { MetricPage } from "./metric-page.ts";

/** Of the configuration in effect; asked whenever somebody looks. */
export interface GatewayState {
  readonly nowUs: number;
  readonly upstreams: readonly Upstream[];
  /** Those of earlier configurations that may still have requests. */
  readonly retired: readonly Upstream[];
  readonly models: readonly ModelRoute[];
  readonly admission: AdmissionSnapshot | undefined;
  /** null: nothing is shared with other gateways. */
  readonly shared: SharedFacts | null;
}

const TENANTS_MAX = 100;

export function addStateMetrics(page: MetricPage, state: () => GatewayState): void {
  addConnections(page, state);
  addInFlight(page, state);
  addTargets(page, state);
  addBudgets(page, state);
  addAdmission(page, state);
  addReplicas(page, state);
  addShared(page, state);
}

type State = () => GatewayState;

function addConnections(page: MetricPage, state: State): void {
  const add = (name: string, help: string, of: (pool: UpstreamPool) => number): void => {
    page.read(`upstream_${name}`, help, ["upstream"], () =>
      state().upstreams.map(({ name: upstream, pools }) => [
        [upstream],
        pools.reduce((sum, pool) => sum + of(pool), 0),
      ]),
    );
  };
  const counted = (name: string, help: string, count: keyof PoolCounts): void =>
    add(name, help, ({ counts }) => counts[count]);
  add("connections_open", "Open upstream connections", (pool) => pool.open);
  add("connections_idle", "Open upstream connections without a request", (pool) => pool.idle);
  counted("connections_opened_total", "Upstream connections opened", "opened");
  counted("connections_warmed_total", "Of these, ahead of need", "warmed");
  counted("connections_failed_total", "Could not be opened", "failed");
  counted("requests_on_warm_total", "Requests on an open connection", "reused");
  counted("reuse_races_total", "Kept connections that a request found dead", "raced");
  const resumed = "Of these, with a TLS session of an earlier connection";
  counted("connections_resumed_total", resumed, "resumed");
  counted("connections_multiplexed_total", "Of these, over HTTP/2", "multiplexed");
  for (const [stage, title] of STAGES) {
    const help = `Time in ${title} of the connections opened`;
    add(`${stage}_seconds_total`, help, ({ counts }) => counts[`${stage}Us`] / US_PER_S);
  }
}

const STAGES = [
  ["dns", "DNS"],
  ["tcp", "TCP handshakes"],
  ["tls", "TLS handshakes"],
] as const;

const BREAKER_STATES = { closed: 0, "half-open": 1, open: 2 } as const;

/** A reload that changes an upstream makes another one of its name; its open attempts are counted all the same. */
function addInFlight(page: MetricPage, state: State): void {
  page.read("upstream_in_flight", "Attempts that are under way, by upstream", ["upstream"], () => {
    const { upstreams, retired } = state();
    const counts = new Map(upstreams.map(({ name, inFlight }) => [name, inFlight]));
    for (const { name, inFlight } of retired) {
      if (inFlight > 0) counts.set(name, (counts.get(name) ?? 0) + inFlight);
    }
    return Array.from(counts, ([name, count]): Reading => [[name], count]);
  });
}

function addTargets(page: MetricPage, state: State): void {
  const labels = ["model", "upstream", "target"];
  const each = (read: (route: ModelRoute, at: number, nowUs: number) => number) => {
    return (): Reading[] => {
      const { models, nowUs } = state();
      return models.flatMap((route) =>
        route.call.targets.map((target, at): Reading => {
          const names = [route.name, route.lines[at]!.upstream.name, target.name];
          return [names, read(route, at, nowUs)];
        }),
      );
    };
  };
  page.read(
    "breaker_state",
    "Of a target's breaker: 0 closed, 1 half-open, 2 open",
    labels,
    each(({ call }, at, nowUs) => BREAKER_STATES[call.targets[at]!.breakerAt(nowUs)]),
  );
  page.read(
    "breaker_opened_total",
    "How often a target's breaker has opened since the configuration was read",
    labels,
    each(({ call }, at) => call.targets[at]!.breakerOpened),
  );
}

function addBudgets(page: MetricPage, state: State): void {
  const each = (read: (route: ModelRoute) => Iterable<readonly [string, number]>) => {
    return (): Reading[] =>
      state().models.flatMap((route) =>
        Array.from(read(route), ([kind, value]): Reading => [[route.name, kind], value]),
      );
  };
  page.read(
    "attempt_budget_calls",
    "Extra attempts that are saved up",
    ["model", "kind"],
    each(({ call }) => [
      ["retry", call.retries.calls],
      ["hedge", call.hedges.calls],
    ]),
  );
  page.read(
    "attempt_budget_refused_total",
    "Extra attempts that the budget did not allow",
    ["model", "kind"],
    each(({ call }) => [
      ["retry", call.retries.refused],
      ["hedge", call.hedges.refused],
    ]),
  );
  page.read(
    "hedges_refused_total",
    "Late calls that were not hedged: everything was slow, or the budget was spent",
    ["model", "reason"],
    each(({ call }) => Object.entries(call.hedger?.refusals ?? {})),
  );
}

function addAdmission(page: MetricPage, state: State): void {
  const lanes = (
    name: string,
    help: string,
    of: (lane: AdmissionSnapshot["lanes"][number]) => number,
  ): void =>
    page.read(name, help, ["lane"], () =>
      (state().admission?.lanes ?? []).map((lane): Reading => [[lane.name], of(lane)]),
    );
  lanes("queue_depth", "Requests that wait for admission", (lane) => lane.queued);
  lanes(
    "queue_oldest_seconds",
    "How long the one has waited that has waited longest",
    (lane) => lane.oldestUs / US_PER_S,
  );
  lanes("lane_in_flight", "Requests that were let in and have not ended", (lane) => lane.inFlight);
  lanes(
    "lane_tokens_in_flight",
    "Their tokens, prompt and predicted answer",
    (lane) => lane.tokensInFlight,
  );
  const one = (name: string, help: string, of: (all: AdmissionSnapshot) => number): void =>
    page.read(name, help, [], () => {
      const { admission } = state();
      return admission === undefined ? [] : [[[], of(admission)]];
    });
  one(
    "admission_limit",
    "Places at the upstreams, as adapted by now",
    (all) => all.concurrencyLimit,
  );
  one("admission_admitted_total", "Requests that were let in", (all) => all.admitted);
  const tenants = new LabelBook(["tenant"], TENANTS_MAX);
  const byTenant = (of: (tenant: AdmissionSnapshot["tenants"][number]) => number) => () => {
    const sums = new Map<string, number>();
    for (const tenant of state().admission?.tenants ?? []) {
      const name = tenants.labelsOf(tenants.at(tenant.name)).tenant!;
      sums.set(name, (sums.get(name) ?? 0) + of(tenant));
    }
    return Array.from(sums, ([name, value]): Reading => [[name], value]);
  };
  page.read(
    "tenant_queued",
    "Requests that wait, by tenant",
    ["tenant"],
    byTenant((tenant) => tenant.queued),
  );
  page.read(
    "tenant_in_flight",
    "Requests that were let in, by tenant",
    ["tenant"],
    byTenant((tenant) => tenant.inFlight),
  );
}

function addReplicas(page: MetricPage, state: State): void {
  type Replica = NonNullable<Upstream["replicas"]>[number];
  const add = (name: string, help: string, of: (replica: Replica) => number | undefined): void =>
    page.read(`replica_${name}`, help, ["upstream", "replica"], () =>
      state().upstreams.flatMap((upstream) =>
        (upstream.replicas ?? []).flatMap((replica): Reading[] => {
          const value = of(replica);
          return value === undefined ? [] : [[[upstream.name, replica.url], value]];
        }),
      ),
    );
  add("ready", "Whether it gets requests: 0 if it is ejected or draining", ({ state: is }) =>
    is === "ejected" || is === "draining" ? 0 : 1,
  );
  add("slow", "Whether it is asked last, since it is slow or not warm yet", ({ state: is }) =>
    is === "slow" || is === "cold" ? 1 : 0,
  );
  add("in_flight", "Requests that this gateway has there", ({ requests }) => requests);
  add("picks_total", "Requests that were sent there", ({ picks }) => picks);
  add("pending_tokens", "Prompt tokens that are sent and not computed", (one) => one.pendingTokens);
  add("running", "Requests that it computes, as it says", ({ report }) => report?.running);
  add("waiting", "Requests that wait there, as it says", ({ report }) => report?.waiting);
  add("kv_use", "Share of its KV memory in use, as it says", ({ report }) => report?.kvUse);
  add("report_age_seconds", "Since it has last said so", ({ reportAgeUs }) =>
    reportAgeUs === undefined ? undefined : reportAgeUs / US_PER_S,
  );
  add("reports_failed_total", "Looks at its metrics that failed", (one) => one.metricsFailed);
}

function addShared(page: MetricPage, state: State): void {
  const add = (
    name: string,
    help: string,
    labels: readonly string[],
    of: (shared: SharedFacts) => readonly Reading[],
  ): void =>
    page.read(`shared_${name}`, help, labels, () => {
      const { shared } = state();
      return shared === null ? [] : of(shared);
    });
  add("connected", "Whether the state that gateways share answers", [], ({ watch }) => [
    [[], watch.isAway ? 0 : 1],
  ]);
  add("outages_total", "Times that it went away", [], ({ watch }) => [[[], watch.outages]]);
  add("asked_total", "Questions to it, by whether an answer came in time", ["result"], (shared) => {
    const { answered, failed, skipped } = shared.store;
    return Object.entries({ answered, failed, skipped }).map(([name, count]) => [[name], count]);
  });
  add(
    "grants_total",
    "Requests of tenants with limits: by verdict, and whether by the shared state or this gateway's own share",
    ["verdict", "by"],
    ({ limits: { granted, denied } }) => [
      [["granted", "shared"], granted.shared],
      [["granted", "own"], granted.local],
      [["denied", "shared"], denied.shared],
      [["denied", "own"], denied.local],
    ],
  );
  add("gateways", "Gateways that share it, as last counted", [], ({ limits }) => [
    [[], limits.gateways],
  ]);
  add("breakers_heard_total", "Breakers that were open at others", [], ({ watch }) => [
    [[], watch.heard],
  ]);
}
