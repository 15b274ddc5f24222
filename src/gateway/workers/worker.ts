/** One worker: a gateway with its share of everything, which does what its supervisor says and nothing by itself. */
import type { Clock } from "../../clock/index.ts";
import { type ManxError, toManxError, US_PER_S } from "../../core/index.ts";
import type { GatewayConfig } from "../config/index.ts";
import type { DrainedPlace } from "../drained-places.ts";
import type { Fleet, FleetMember } from "../fleet.ts";
import { startConfigured } from "../gateway.ts";
import type { Gateway } from "../gateway-contract.ts";
import type { LedgerState, Spending } from "../keys/index.ts";
import { IpcLink, type IpcPort } from "./ipc-link.ts";
import { WorkerBudgets } from "./worker-budgets.ts";
import { workerShare } from "./worker-share.ts";

/** What a worker has to know of the time before it. */
export interface Welcome {
  readonly workers: number;
  /** What the configuration's file said when it was read last and was right; null if there is no file. */
  readonly text: string | null;
  readonly spent: LedgerState;
  readonly drained: readonly DrainedPlace[];
}

/** What it says when it serves. */
export interface Serving {
  readonly url: string;
  readonly connectionsOpen: number;
  readonly warning: Record<string, unknown> | null;
}

/** @param text of the file; undefined if there is none. @throws what is wrong with it */
export type LoadConfig = (text: string | undefined) => Promise<GatewayConfig>;

export interface WorkerOptions {
  readonly clock: Clock;
  readonly port: IpcPort;
  /** The whole configuration, made of what its file says; at the start and at each reload. */
  readonly load: LoadConfig;
}

const WELCOME_US = 30 * US_PER_S;
const FAILED_US = 2 * US_PER_S;
/** A little more than the supervisor gives the other workers. */
const METRICS_US = 3 * US_PER_S;

/** Resolves once it has left, with nothing open, or once its supervisor knows why it cannot start. */
export async function runWorker(options: WorkerOptions): Promise<void> {
  const { clock, port } = options;
  const link = new IpcLink(port, clock);
  const leaving = new Promise<void>((resolve) => link.on("leave", () => resolve()));
  let gateway: Gateway;
  try {
    gateway = await serve(link, options);
  } catch (thrown) {
    // An answer shows that it has arrived; there is nobody else to tell.
    await link.ask("failed", toManxError(thrown).toJSON(), FAILED_US).catch(() => undefined);
    return;
  }
  await leaving;
  await gateway.close();
}

async function serve(link: IpcLink, { clock, load }: WorkerOptions): Promise<Gateway> {
  let members: readonly FleetMember[] = [];
  link.on("members", (value) => {
    members = value as readonly FleetMember[];
  });
  const { welcome, since } = await introduce(link, clock);
  const { workers, spent, text } = welcome;
  const share = async (now: unknown): Promise<GatewayConfig> =>
    workerShare(await load(typeof now === "string" ? now : undefined), workers);
  const fleet: Fleet = {
    size: workers,
    members: () => members,
    metrics: (own, accept) =>
      link.ask("metrics", accept, METRICS_US).then(
        (text) => ({ ...own, text: String(text) }),
        () => own,
      ),
  };
  const gateway = await startConfigured(await share(text), {
    clock,
    fleet,
    budgets: (ledger) => new WorkerBudgets({ ledger, link, clock, spent, since }),
    onNotice: (notice: ManxError) => link.tell("notice", notice.toJSON()),
  });
  for (const place of welcome.drained) tryDrain(gateway, place);
  link.on("cut", () => gateway.cut());
  link.on("state", () => gateway.report());
  link.on("drain", (place) => gateway.drain(place as DrainedPlace));
  link.on("resume", (place) => gateway.resume(place as DrainedPlace));
  link.on("page", async (accept) => (await gateway.metricsPage(accept as string)).text);
  link.on("reload", async (now) => {
    await gateway.reload(await share(now));
  });
  const serving: Serving = {
    url: gateway.url,
    connectionsOpen: gateway.connections().open,
    warning: gateway.warning?.toJSON() ?? null,
  };
  link.tell("serving", serving);
  return gateway;
}

/** What others spend from the moment of the welcome on must not be lost until there is a ledger for it. */
async function introduce(
  link: IpcLink,
  clock: Clock,
): Promise<{ readonly welcome: Welcome; readonly since: readonly Spending[] }> {
  const since: Spending[] = [];
  link.on("spent", (value) => void since.push(...(value as Spending[])));
  const welcomed = new Promise<Welcome>((resolve, reject) => {
    const { signal, cancel } = clock.deadline(clock.nowUs() + WELCOME_US);
    signal.addEventListener("abort", () => reject(signal.reason));
    link.on("welcome", (value) => {
      cancel();
      // What came before it is part of it.
      since.length = 0;
      resolve(value as Welcome);
    });
  });
  link.tell("hello");
  return { welcome: await welcomed, since };
}

/** What was drained may not be there any more. */
function tryDrain(gateway: Gateway, place: DrainedPlace): void {
  try {
    gateway.drain(place);
  } catch {
    // Then nothing goes there either.
  }
}
