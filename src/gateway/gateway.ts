/** Puts the gateway together: upstreams and routes, the front, the metrics; changes them while it runs; and takes it down without cutting streams. */
import { hostname } from "node:os";
import { type Cancel, type Clock, realClock } from "../clock/index.ts";
import { ManxError, US_PER_S } from "../core/index.ts";
import { close, listen } from "../http/index.ts";
import { AdminServer, type Operations } from "./admin/index.ts";
import { AdmissionDesk } from "./admission-desk.ts";
import type { GatewayConfig } from "./config/index.ts";
import { type DrainedPlace, DrainedPlaces } from "./drained-places.ts";
import type { MetricsPage } from "./fleet.ts";
import { Front, type FrontContext } from "./front.ts";
import type { Gateway, GatewayConnections, GatewayParts } from "./gateway-contract.ts";
import { type GatewayReport, gatewayReport } from "./gateway-report.ts";
import { GuardSet } from "./guardrails/index.ts";
import { keyRingOf } from "./key-ring-of.ts";
import { BudgetKeeper, BudgetLedger, type BudgetStore, type KeyRing } from "./keys/index.ts";
import { type LimitsInEffect, limitsInEffect } from "./limits.ts";
import { type Rehearsal, rehearse } from "./rehearsal/rehearsal.ts";
import { Seeing } from "./seeing/index.ts";
import { type SharedFacts, SharedState, StateWatch } from "./shared-state/index.ts";
import { type SimpleOptions, simpleConfig } from "./simple-config.ts";
import type { Upstream } from "./upstream.ts";
import { downError } from "./upstream-fault.ts";
import { leftOver, targetsOf, type Wiring, wire } from "./wiring.ts";
import { tenantShare } from "./workers/worker-share.ts";

export interface GatewayOptions extends SimpleOptions {
  readonly clock?: Clock;
}

/** For clients to read the error that ends their stream when the gateway goes. */
const READ_ERROR_US = US_PER_S;
/** A message between two processes of a busy machine. */
const DEALT_US = 300_000;
/** Tells the gateways of one process apart. */
let gatewaysMade = 0;

/** One upstream, every model. @throws MANX_URL, MANX_FLAG_VALUE, MANX_PORT_IN_USE, MANX_ADDRESS */
export function startGateway(options: GatewayOptions): Promise<Gateway> {
  return startConfigured(simpleConfig(options), {
    ...(options.clock !== undefined && { clock: options.clock }),
  });
}

/** @throws MANX_URL, MANX_SECRET_MISSING, MANX_FILE_UNREADABLE, MANX_KEY_FILE, MANX_SPENT_FILE, MANX_PORT_IN_USE, MANX_ADDRESS */
export async function startConfigured(
  config: GatewayConfig,
  parts: GatewayParts = {},
): Promise<Gateway> {
  const start = (staged: GatewayConfig): Promise<Gateway> =>
    startConfigured(staged, { listensAlone: true });
  const rehearsal = await rehearse(config, { clock: parts.clock ?? realClock, start });
  const running = new RunningGateway(config, parts);
  running.rehearsal = rehearsal;
  await running.start();
  return running;
}

class RunningGateway implements Gateway {
  readonly #clock: Clock;
  readonly #seeing: Seeing;
  readonly #ledger: BudgetLedger;
  readonly #budgets: BudgetStore;
  readonly #via: string;
  #wiring: Wiring;
  /** Upstreams of older configurations that still have requests. */
  #retired: Upstream[] = [];
  #reloading: Promise<void> = Promise.resolve();
  #admission: AdmissionDesk | null = null;
  #guards: GuardSet | null = null;
  #front: Front | undefined;
  readonly #parts: GatewayParts;
  #shared: SharedState | null = null;
  #stateWatch: StateWatch | undefined;
  readonly #impatience = new AbortController();
  #closing: Promise<void> | undefined;
  readonly #drained = new DrainedPlaces();
  #keys: KeyRing | null = null;
  #admin: AdminServer | undefined;
  url = "";
  adminUrl: string | null = null;
  warning: ManxError | null = null;
  rehearsal: Rehearsal | null = null;

  constructor(config: GatewayConfig, parts: GatewayParts) {
    const { clock = realClock } = parts;
    this.#clock = clock;
    this.#parts = parts;
    gatewaysMade += 1;
    // Differs between processes and machines well enough to find a circle: the instant in µs of one of them.
    this.#via = `manx-${clock.nowUs().toString(36)}-${gatewaysMade}`;
    this.#wiring = wire(config, clock);
    this.#seeing = new Seeing({
      clock,
      instance: this.#via,
      state: () => ({
        nowUs: clock.nowUs(),
        upstreams: this.#upstreams(),
        retired: this.#retired,
        models: this.#wiring.routes.all,
        admission: this.#admission?.snapshot(),
        shared: this.shared(),
      }),
      onFault: (error) => parts.onNotice?.(error),
    });
    this.#ledger = new BudgetLedger(config.prices);
    const ledger = this.#ledger;
    const onFailure = (error: ManxError): void => parts.onNotice?.(error);
    this.#budgets = parts.budgets?.(ledger) ?? new BudgetKeeper({ ledger, clock, onFailure });
  }

  get config(): GatewayConfig {
    return this.#wiring.config;
  }

  get limits(): LimitsInEffect {
    return limitsInEffect(this.#wiring.config);
  }

  async start(): Promise<void> {
    const { config } = this.#wiring;
    const { listen: at } = config;
    try {
      await this.#share();
      this.#front = new Front(await this.#context(this.#wiring));
      const isAlone = this.#parts.listensAlone ?? false;
      this.url = await listen(this.#front.server, { ...at, isAlone });
      await this.#openAdmin(config);
    } catch (thrown) {
      if (this.#front !== undefined) await close(this.#front.server, { cutOpen: true });
      await Promise.all(this.#upstreams().map((upstream) => upstream.close()));
      await this.#unshare();
      await this.#budgets.close();
      await this.#seeing.close();
      throw thrown;
    }
    this.#seeing.start();
    this.warning = await this.#warm();
  }

  reload(config: GatewayConfig): Promise<void> {
    // One after the other: two at a time would each take over from the same configuration.
    const done = this.#reloading.then(() => this.#reload(config));
    this.#reloading = done.catch(() => undefined);
    return done;
  }

  async #reload(config: GatewayConfig): Promise<void> {
    const before = this.#wiring;
    const after = wire(config, this.#clock, before);
    const oldDesk = this.#admission;
    const oldGuards = this.#guards;
    let context: FrontContext;
    try {
      context = await this.#context(after);
    } catch (thrown) {
      for (const upstream of leftOver(after, before)) upstream.retire();
      throw thrown;
    }
    this.#wiring = after;
    this.#drained.apply(after);
    this.#front!.use(context);
    if (oldDesk !== this.#admission) oldDesk?.retire();
    oldGuards?.retire();
    for (const upstream of leftOver(before, after)) {
      upstream.retire();
      this.#retired.push(upstream);
    }
    this.#retired = this.#retired.filter(({ isOpen }) => isOpen);
    this.#seeing.reloaded("ok");
    await this.#warm();
  }

  inFlight(): number {
    return this.#seeing.inFlight;
  }

  connections(): GatewayConnections {
    const counted = { opened: 0, warmed: 0, resumed: 0, multiplexed: 0, failed: 0, reused: 0 };
    const names = Object.keys(counted) as (keyof typeof counted)[];
    const pools = this.#pools();
    for (const { counts } of pools) for (const name of names) counted[name] += counts[name];
    const sum = (of: "open" | "idle"): number => pools.reduce((total, pool) => total + pool[of], 0);
    return { open: sum("open"), idle: sum("idle"), ...counted };
  }

  shared(): SharedFacts | null {
    if (this.#shared === null) return null;
    return { ...this.#shared.facts, watch: this.#stateWatch!.facts };
  }

  async metricsText(): Promise<string> {
    return (await this.metricsPage()).text;
  }

  report(): GatewayReport {
    return gatewayReport({
      nowUs: this.#clock.nowUs(),
      wallMs: this.#clock.wallMs(),
      inFlight: this.inFlight(),
      wiring: this.#wiring,
      drained: this.#drained.list,
      admission: this.#admission?.snapshot(),
      keys: this.#keys,
      ledger: this.#ledger,
      shared: this.shared(),
    });
  }

  drain(place: DrainedPlace): void {
    this.#drained.add(place, this.#wiring);
  }

  resume(place: DrainedPlace): void {
    this.#drained.remove(place, this.#wiring);
  }

  metricsPage(accept?: string): Promise<MetricsPage> {
    return this.#seeing.page(accept);
  }

  reloadFailed(): void {
    this.#seeing.reloaded("failed");
  }

  close(): Promise<void> {
    this.#closing ??= this.#end();
    return this.#closing;
  }

  cut(): void {
    this.#impatience.abort();
    void this.close();
  }

  async #end(): Promise<void> {
    const front = this.#front!;
    const impatience = this.#impatience.signal;
    const clock = this.#clock;
    const { graceUs, drainUs } = this.limits;
    front.leave();
    if (graceUs > 0) {
      await clock.sleepUntil(clock.nowUs() + graceUs, impatience).catch(() => undefined);
    }
    const closed = close(front.server);
    await this.#takeDealt();
    const cancels: Cancel[] = [];
    const cutAll = (): void => {
      front.cutAll();
      // Whoever does not even read its error is not waited for.
      const endUs = clock.nowUs() + READ_ERROR_US;
      cancels.push(clock.at(endUs, () => front.server.closeAllConnections()));
    };
    cancels.push(clock.at(clock.nowUs() + drainUs, cutAll));
    impatience.addEventListener("abort", cutAll);
    const drained = front.drain();
    if (impatience.aborted) cutAll();
    await drained;
    await closed;
    impatience.removeEventListener("abort", cutAll);
    for (const cancel of cancels) cancel();
    await this.#letGo();
  }

  /** Connections that the process in front had dealt out to this worker before it heard that it takes no more. */
  async #takeDealt(): Promise<void> {
    if (this.#parts.fleet === undefined) return;
    const endUs = this.#clock.nowUs() + DEALT_US;
    await this.#clock.sleepUntil(endUs, this.#impatience.signal).catch(() => undefined);
  }

  /** Nothing is open any more. */
  async #letGo(): Promise<void> {
    await this.#admin?.close();
    this.#guards?.retire();
    this.#admission?.retire();
    await this.#unshare();
    await this.#budgets.close();
    await Promise.all([...this.#upstreams(), ...this.#retired].map((upstream) => upstream.close()));
    this.#wiring.network.close();
    await this.#seeing.close();
  }

  /** Runs by the wiring's configuration from here on. @throws what a file or a limit is at fault for; then all is as before. */
  async #context(wiring: Wiring): Promise<FrontContext> {
    const { config, routes } = wiring;
    const keys = await keyRingOf(config);
    const admission = this.#deskFor(config, keys);
    const guards = this.#guardsFor(wiring);
    try {
      this.#seeing.use(config);
      await this.#budgets.follow(config.keys.source === "file" ? config.keys.path : null);
    } catch (thrown) {
      guards?.retire();
      if (this.#front !== undefined) this.#seeing.use(this.#wiring.config);
      throw thrown;
    }
    // All that can fail is behind us.
    this.#ledger.prices = config.prices;
    this.#keys = keys;
    this.#guards = guards;
    this.#admission = admission;
    return {
      routes,
      upstreams: [...wiring.upstreams.values()],
      limits: config.limits,
      clock: this.#clock,
      seeing: this.#seeing,
      via: this.#via,
      admission: this.#admission,
      guards: this.#guards,
      keys,
      ledger: this.#ledger,
      config,
      fleet: this.#parts.fleet ?? null,
    };
  }

  /** Made anew with each configuration; calls that run keep the one that they began with. */
  #guardsFor({ config, routes }: Wiring): GuardSet | null {
    const { guardrails, guardrailWindow: window } = config;
    if (guardrails.length === 0) return null;
    const [clock, via, watch] = [this.#clock, this.#via, this.#seeing.guards];
    return new GuardSet({ guardrails, window, routes, clock, via, watch });
  }

  #deskFor(config: GatewayConfig, keys: KeyRing | null): AdmissionDesk | null {
    if (config.admission === null) return null;
    const tenants = { ...config.admission.tenants, ...this.#keyTenants(config, keys) };
    const options = { ...config.admission, tenants };
    // What it has learnt, and who waits, outlive a reload that does not change it.
    if (this.#admission?.hasOptions(options) === true) return this.#admission;
    return new AdmissionDesk(options, this.#clock, this.#shared?.limits ?? null);
  }

  /** Rates of keys, of which one of several processes has its part, unless they are counted together. */
  #keyTenants({ state }: GatewayConfig, keys: KeyRing | null) {
    const whole = Object.entries(keys?.admissionTenants() ?? {});
    const size = state === null ? (this.#parts.fleet?.size ?? 1) : 1;
    return Object.fromEntries(whole.map(([name, limit]) => [name, tenantShare(limit, size)]));
  }

  async #openAdmin({ admin }: GatewayConfig): Promise<void> {
    if (admin === null) return;
    const operations: Operations = {
      config: () => this.config,
      state: async () => ({ workers: [{ worker: 0, ...this.report() }], unanswered: [] }),
      drain: async (place) => this.drain(place),
      resume: async (place) => this.resume(place),
      reload: this.#parts.reload ?? nothingToRead,
    };
    this.#admin = new AdminServer(operations, this.#clock);
    this.adminUrl = await this.#admin.start(admin);
  }

  async #share(): Promise<void> {
    const { state: url } = this.#wiring.config;
    if (url === null) return;
    const clock = this.#clock;
    const gatewayId = `${hostname()}:${process.pid}:${this.#via}`;
    const { onNotice, stateDeadlineUs: deadlineUs } = this.#parts;
    const gatewaysExpected = this.#parts.fleet?.size ?? 1;
    const options = { url: url.reveal(), clock, gatewayId, gatewaysExpected };
    const state = await SharedState.open({
      ...options,
      ...(deadlineUs !== undefined && { deadlineUs }),
    });
    this.#shared = state;
    const targets = () => targetsOf(this.#wiring);
    const onAway = (notice: ManxError): void => onNotice?.(notice);
    this.#stateWatch = new StateWatch({ clock, state, targets, onAway });
  }

  async #unshare(): Promise<void> {
    this.#stateWatch?.stop();
    await this.#shared?.close();
  }

  async #warm(): Promise<ManxError | null> {
    const upstreams = this.#upstreams();
    const causes = await Promise.all(upstreams.map((upstream) => upstream.warm()));
    const at = causes.findIndex((cause) => cause !== null);
    return at < 0 ? null : downError(causes[at]!, upstreams[at]!.pools[0]!.origin.origin);
  }

  #upstreams(): Upstream[] {
    return [...this.#wiring.upstreams.values()];
  }

  #pools() {
    return this.#upstreams().flatMap(({ pools }) => pools);
  }
}

function nothingToRead(): Promise<never> {
  const what = "this gateway has no file to read again";
  return Promise.reject(new ManxError("MANX_REQUEST_INVALID", { what }));
}
