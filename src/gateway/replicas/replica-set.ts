/**
 * The replicas behind one upstream of the gateway: routes each request by what is known (`ReplicaRouter`), and keeps that
 * knowledge fresh in the background. `pick` is a calculation of microseconds: it asks nobody and waits for nothing.
 *
 *     const placement = set.pick(request);          undefined: nobody may be asked before `retryAfterUs()`
 *     set.firstOutput(placement);
 *     set.end(placement, "ok");                     always, once
 */
import { type Clock, Random, realClock } from "../../clock/index.ts";
import { lookUp, ManxError, US_PER_S } from "../../core/index.ts";
import {
  type EngineReport,
  type PlacedPair,
  type PlacedRequest,
  type Placement,
  type ReplicaOutcome,
  type ReplicaRole,
  ReplicaRouter,
  type ReplicaRouterOptions,
  type ReplicaSnapshot,
} from "../../policy/index.ts";
import { parseUpstream } from "../upstream-url.ts";
import { ReplicaClient } from "./replica-client.ts";
import { ReplicaWatch, type WatchCounts, type WatchSink } from "./replica-watch.ts";

export interface ReplicaOptions {
  /** Such as `http://10.0.0.7:8000`; what `parseUpstream` takes. */
  readonly url: string;
  /** Default "both". An upstream is split if one replica is "prefill" or "decode". */
  readonly role?: ReplicaRole;
  /** It has yet to warm up: last in line at first. Default false. */
  readonly isCold?: boolean;
}

export interface ReplicaSetOptions extends Omit<ReplicaRouterOptions, "roles" | "cold"> {
  /** 1 to 256. */
  readonly replicas: readonly ReplicaOptions[];
  readonly clock?: Clock;
  /** Of the jitter; by default another one in each process. */
  readonly seed?: number;
  /** Between two looks at a replica's metrics, ± 20 %. Default 1 s. */
  readonly intervalUs?: number;
  /** For one answer to such a look. Default 2 s. */
  readonly timeoutUs?: number;
  /** Largest page of metrics. Default 4 MiB. */
  readonly pageBytesMax?: number;
}

export interface ReplicaStatus extends ReplicaSnapshot, Readonly<WatchCounts> {
  readonly url: string;
  readonly role: ReplicaRole;
  /** What the engine said last, and how long ago. */
  readonly report: EngineReport | undefined;
  readonly reportAgeUs: number | undefined;
}

const REPLICAS_MAX = 256;
const RETRY_AFTER_US_MAX = 30 * US_PER_S;

export class ReplicaSet {
  readonly urls: readonly string[];
  readonly isSplit: boolean;
  /** Resolves when every replica was looked at once. Nobody has to wait for it. */
  readonly ready: Promise<void>;
  readonly #roles: readonly ReplicaRole[];
  readonly #clock: Clock;
  readonly #router: ReplicaRouter;
  readonly #watches: readonly ReplicaWatch[];

  /** @throws MANX_URL, MANX_FLAG_VALUE */
  constructor(options: ReplicaSetOptions) {
    const { replicas, clock = realClock, intervalUs = US_PER_S } = options;
    checkReplicas(replicas);
    const places = replicas.map(({ url }) => parseUpstream(url, "replicas"));
    this.urls = places.map(({ origin, prefix }) => `${origin.origin}${prefix}`);
    this.#roles = replicas.map(({ role = "both" }) => role);
    this.isSplit = this.#roles.some((role) => role !== "both");
    this.#clock = clock;
    const seed = options.seed ?? Math.abs(clock.nowUs()) % 2 ** 31;
    const cold = replicas.map(({ isCold = false }) => isCold);
    this.#router = new ReplicaRouter({ ...options, roles: this.#roles, cold }, clock.nowUs());
    this.#watches = places.map(({ origin, prefix }, replica) => {
      const client = new ReplicaClient({
        origin,
        clock,
        timeoutUs: options.timeoutUs ?? 2 * US_PER_S,
        bytesMax: options.pageBytesMax ?? 4 * 2 ** 20,
      });
      const random = new Random(seed, `scrape ${replica}`);
      const sink = this.#sinkOf(replica);
      return new ReplicaWatch({ client, clock, random, intervalUs, prefix, sink });
    });
    this.ready = Promise.all(this.#watches.map((watch) => watch.start())).then(() => undefined);
  }

  /** Counts from here until `end`. @returns undefined if no replica may be asked. */
  pick(request: PlacedRequest): Placement | undefined {
    return this.#router.pick(request, this.#clock.nowUs());
  }

  /** For a split upstream. @returns undefined if no decode replica may be asked. */
  pickPair(request: PlacedRequest): PlacedPair | undefined {
    return this.#router.pickPair(request, this.#clock.nowUs());
  }

  /** Of streams only. */
  firstOutput(placement: Placement): void {
    this.#router.firstOutput(placement, this.#clock.nowUs());
  }

  /** A second end counts for nothing. */
  end(placement: Placement, outcome: ReplicaOutcome): void {
    this.#router.end(placement, outcome, this.#clock.nowUs());
  }

  /** How long until a replica may be back when none may be asked, at most 30 s; what a client is told. */
  retryAfterUs(): number {
    const leftUs = this.#router.nextReturnUs() - this.#clock.nowUs();
    return Math.min(RETRY_AFTER_US_MAX, Math.max(0, leftUs));
  }

  /** The replica gets no new request; those that it has go on. @throws MANX_NAME_UNKNOWN */
  drain(url: string): void {
    this.#router.drain(this.#replicaAt(url));
  }

  /** @throws MANX_NAME_UNKNOWN */
  resume(url: string): void {
    this.#router.resume(this.#replicaAt(url));
  }

  snapshot(): {
    readonly replicas: readonly ReplicaStatus[];
    readonly index: { nodes: number; bytes: number };
  } {
    const nowUs = this.#clock.nowUs();
    const replicas = this.#router.snapshot(nowUs).map((known, replica) => {
      const { counts, report, reportedUs } = this.#watches[replica]!;
      return {
        url: this.urls[replica]!,
        role: this.#roles[replica]!,
        ...known,
        ...counts,
        report,
        reportAgeUs: reportedUs === undefined ? undefined : nowUs - reportedUs,
      };
    });
    return { replicas, index: this.#router.index() };
  }

  /** Looks at no replica any more; cuts the looks under way. */
  async stop(): Promise<void> {
    await Promise.all(this.#watches.map((watch) => watch.stop()));
  }

  #sinkOf(replica: number): WatchSink {
    return {
      isEjected: () => this.#router.isEjected(replica),
      isProbeDue: () => this.#router.isProbeDue(replica, this.#clock.nowUs()),
      probed: (result) => this.#router.probed(replica, result, this.#clock.nowUs()),
      reported: (report) => this.#router.report(replica, report, this.#clock.nowUs()),
    };
  }

  #replicaAt(url: string): number {
    const { origin, prefix } = parseUpstream(url, "replica");
    const table = Object.fromEntries(this.urls.map((one, replica) => [one, replica]));
    return lookUp(table, `${origin.origin}${prefix}`, "replica");
  }
}

function checkReplicas(replicas: readonly ReplicaOptions[]): void {
  const refuse = (expected: string, got: string): never => {
    throw new ManxError("MANX_FLAG_VALUE", { where: "replicas", expected, got });
  };
  if (replicas.length < 1 || replicas.length > REPLICAS_MAX) {
    refuse(`1 to ${REPLICAS_MAX} replicas`, String(replicas.length));
  }
  const roles = new Set(replicas.map(({ role = "both" }) => role));
  if (roles.size > 1 && roles.has("both")) {
    refuse("either replicas for both, or prefill and decode replicas", "a mixture");
  }
  if (roles.has("prefill") && !roles.has("decode")) refuse("a decode replica", "none");
}
