/**
 * The process in front of the workers: keeps them running, and keeps what must not be lost with one of them, which is what
 * keys have spent and which upstreams are drained. It serves no request itself.
 */
import type { Clock } from "../../clock/index.ts";
import { type ManxError, US_PER_S } from "../../core/index.ts";
import { AdminServer, type Operations, type WorkerReport } from "../admin/index.ts";
import { type ConfigDiff, diffConfig, type GatewayConfig } from "../config/index.ts";
import type { DrainedPlace } from "../drained-places.ts";
import { BudgetKeeper, BudgetLedger, type Spending } from "../keys/index.ts";
import { Crew } from "./crew.ts";
import { fleetPage } from "./fleet-metrics.ts";
import type { Member } from "./member.ts";
import { errorFrom } from "./plain-error.ts";
import type { LoadConfig, Serving, Welcome } from "./worker.ts";
import type { WorkerProcess } from "./worker-process.ts";

export interface SupervisorOptions {
  readonly clock: Clock;
  readonly config: GatewayConfig;
  readonly fork: () => WorkerProcess;
  /** What the configuration was made of; undefined if there is no file. */
  readonly text: string | undefined;
  /** The file as it is by now. */
  readonly readText: () => Promise<string | undefined>;
  readonly load: LoadConfig;
  /** What operators may ask for. Default `Supervisor.reload`, for those who want to say something about it. */
  readonly reload?: () => Promise<ConfigDiff>;
  readonly onNotice: (notice: ManxError) => void;
}

const PAGE_US = 2 * US_PER_S;
const ASK_US = 5 * US_PER_S;
const RELOAD_US = 60 * US_PER_S;
/** Workers find out the same at the same time; it is told once. */
const SAME_NOTICE_US = 10 * US_PER_S;

export class Supervisor {
  readonly #options: SupervisorOptions;
  readonly #crew: Crew;
  readonly #ledger = new BudgetLedger(null);
  readonly #budgets: BudgetKeeper;
  #drained: readonly DrainedPlace[] = [];
  #admin: AdminServer | undefined;
  readonly #noticed = new Map<string, number>();
  #config: GatewayConfig;
  #text: string | undefined;
  /** Where operators reach it, if they can. */
  adminUrl: string | null = null;

  constructor(options: SupervisorOptions) {
    this.#options = options;
    const { clock, config, fork } = options;
    this.#config = config;
    this.#text = options.text;
    const onNotice = (notice: ManxError): void => this.#notice(notice);
    this.#budgets = new BudgetKeeper({ ledger: this.#ledger, clock, onFailure: onNotice });
    this.#crew = new Crew({
      clock,
      fork,
      workers: config.listen.workers,
      onStart: (member) => this.#meet(member),
      onNotice,
      onChange: () => this.#crew.tellAll("members", this.#crew.statuses),
    });
  }

  get config(): GatewayConfig {
    return this.#config;
  }

  get serving(): number {
    return this.#crew.statuses.filter(({ state }) => state === "serving").length;
  }

  /** @throws what a gateway throws that cannot start; MANX_WORKER */
  async start(): Promise<Serving> {
    await this.#budgets.follow(keysPath(this.#config));
    try {
      await this.#openAdmin();
      return (await this.#crew.start()) as Serving;
    } catch (thrown) {
      await this.#admin?.close();
      await this.#budgets.close();
      throw thrown;
    }
  }

  /** @throws what `load` throws, and what the workers have thrown if none could take it; then all is as before. */
  async reload(): Promise<ConfigDiff> {
    const { readText, load } = this.#options;
    const text = await readText();
    const config = await load(text);
    await this.#budgets.follow(keysPath(config));
    // Workers to come go by what is known to be right, whatever becomes of the file meanwhile.
    const before = this.#text;
    this.#text = text;
    const { answers, missing } = await this.#crew.gather("reload", text ?? null, RELOAD_US);
    const [first] = missing;
    if (first !== undefined && answers.length === 0) {
      this.#text = before;
      await this.#budgets.follow(keysPath(this.#config));
      throw first.error;
    }
    // Most likely it has ended just now; its successor goes by the new one.
    for (const { error } of missing) this.#notice(error);
    const diff = diffConfig(this.#config, config);
    this.#config = config;
    return diff;
  }

  /** @returns how many workers were replaced; undefined if it is at it already. */
  renew(): Promise<number | undefined> {
    return this.#crew.renew();
  }

  async leave(): Promise<void> {
    const { graceUs, drainUs } = this.#config.limits;
    await this.#crew.leave(graceUs + drainUs);
    await this.#admin?.close();
    await this.#budgets.close();
  }

  cut(): void {
    this.#crew.cut();
  }

  async #openAdmin(): Promise<void> {
    const { admin } = this.#config;
    if (admin === null) return;
    const operations: Operations = {
      config: () => this.#config,
      state: async () => {
        const { answers, missing } = await this.#crew.gather("state", undefined, ASK_US);
        const workers = answers.map(({ worker, value }) => {
          return { worker, ...(value as Omit<WorkerReport, "worker">) };
        });
        return { workers, unanswered: missing.map(({ worker }) => worker) };
      },
      drain: (place) => this.#takeOut(place),
      resume: (place) => this.#putBack(place),
      reload: this.#options.reload ?? (() => this.reload()),
    };
    this.#admin = new AdminServer(operations, this.#options.clock);
    this.adminUrl = await this.#admin.start(admin);
  }

  async #takeOut(place: DrainedPlace): Promise<void> {
    await this.#tell("drain", place, [...this.#drained, place]);
  }

  async #putBack(place: DrainedPlace): Promise<void> {
    const isOver = (one: DrainedPlace): boolean =>
      one.upstream === place.upstream && (place.url === null || one.url === place.url);
    await this.#tell(
      "resume",
      place,
      this.#drained.filter((one) => !isOver(one)),
    );
  }

  /**
   * @param drained what is taken out once it is done, for workers to come.
   * @throws what a worker objects to. A name that it does not know no other knows either; a worker that does not answer
   * leaves the others with what they were told.
   */
  async #tell(
    what: "drain" | "resume",
    place: DrainedPlace,
    drained: readonly DrainedPlace[],
  ): Promise<void> {
    const { answers, missing } = await this.#crew.gather(what, place, ASK_US);
    if (answers.length > 0) this.#drained = drained;
    if (missing.length > 0) throw missing[0]!.error;
  }

  #meet(member: Member): void {
    const { link } = member;
    link.on("hello", () => {
      const welcome: Welcome = {
        workers: this.#crew.workers,
        text: this.#text ?? null,
        spent: this.#ledger.state(),
        drained: this.#drained,
      };
      link.tell("welcome", welcome);
      link.tell("members", this.#crew.statuses);
    });
    link.on("spent", (value) => {
      this.#ledger.add(value as Spending[], this.#options.clock.wallMs());
      this.#crew.tellAll("spent", value, member);
    });
    link.on("metrics", (accept) => this.#page(accept));
    link.on("notice", (value) => this.#notice(errorFrom(value)));
  }

  async #page(accept: unknown): Promise<string> {
    const { answers, missing } = await this.#crew.gather("page", accept, PAGE_US);
    const count = (wanted: string): number =>
      this.#crew.statuses.filter(({ state }) => state === wanted).length;
    return fleetPage(
      answers.map(({ value }) => String(value)),
      {
        serving: count("serving"),
        leaving: count("leaving"),
        starting: count("starting"),
        restarts: this.#crew.restarts,
        unanswered: missing.length,
      },
    );
  }

  #notice(notice: ManxError): void {
    const { clock, onNotice } = this.#options;
    const nowUs = clock.nowUs();
    const what = JSON.stringify(notice);
    for (const [text, atUs] of this.#noticed) {
      if (nowUs - atUs > SAME_NOTICE_US) this.#noticed.delete(text);
    }
    if (this.#noticed.has(what)) return;
    this.#noticed.set(what, nowUs);
    onNotice(notice);
  }
}

function keysPath({ keys }: GatewayConfig): string | null {
  return keys.source === "file" ? keys.path : null;
}
