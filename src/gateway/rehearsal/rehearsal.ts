/**
 * Calls that a gateway makes to itself before it listens, so that the first real ones find code that is compiled: at a hundred
 * requests a second it would otherwise take minutes until each path has run often enough, and until then a request pays
 * for it.
 *
 * Code is compiled for what it has seen, and thrown away when it sees something else. So the calls are as real ones are:
 *
 *     callers ─► two gateways by the real configuration ─► upstream        nothing leaves loopback
 *     └──────────────────── the stage, in a thread of its own ──────┘        nothing is counted or logged
 *
 * Whatever goes wrong in here keeps no gateway from its start.
 */
import type { Clock } from "../../clock/index.ts";
import { US_PER_MS, US_PER_S } from "../../core/index.ts";
import type { GatewayConfig, UpstreamFormat } from "../config/index.ts";
import type { Gateway } from "../gateway-contract.ts";
import { type Asked, type CallerFormat, callerRequests } from "./caller-requests.ts";
import type { Played } from "./local-stage.ts";
import { newStage } from "./stage.ts";
import { stagedConfig } from "./staged-config.ts";

export interface Rehearsal {
  readonly calls: number;
  readonly failed: number;
  readonly tookUs: number;
}

/** A slow machine starts all the same. */
const TIME_US = 2 * US_PER_S;
/** For calls that are under way when the time is over. */
const GRACE_US = 500 * US_PER_MS;
/**
 * Code that has seen one gateway alone is compiled for that very one, and thrown away at the first call of another: which would
 * be the real one.
 */
const GATEWAYS = 2;
/** Of a configuration that serves more, so many are asked for. */
const MODELS_MAX = 4;
/** Of an upstream that takes either format, as far as anybody knows who calls it. */
const EITHER: readonly CallerFormat[] = [
  "openai-chat",
  "openai-chat",
  "openai-chat",
  "openai-chat",
  "anthropic-messages",
];
const FORMATS: Readonly<Record<UpstreamFormat, readonly CallerFormat[]>> = {
  any: EITHER,
  openai: ["openai-chat"],
  anthropic: ["anthropic-messages"],
};

/**
 * @param start starts the gateway for it, on a port that no other worker process shares: among workers each one's calls
 *   would be dealt out to the others, and those of real clients to a gateway that is only for show.
 * @returns null for a configuration that wants none.
 */
export async function rehearse(
  config: GatewayConfig,
  { clock, start }: { clock: Clock; start: Start },
): Promise<Rehearsal | null> {
  const { rehearsal: calls } = config.listen;
  if (calls === 0) return null;
  const startUs = clock.nowUs();
  const stage = newStage();
  const ends = [
    clock.at(startUs + TIME_US, () => stage.stop()),
    clock.at(startUs + TIME_US + GRACE_US, () => void stage.close()),
  ];
  const gateways: Gateway[] = [];
  let played: Played = { calls: 0, failed: 0 };
  try {
    const staged = stagedConfig(config, `http://127.0.0.1:${await stage.open()}`);
    while (gateways.length < GATEWAYS) gateways.push(await start(staged));
    const ports = gateways.map(({ url }) => Number(new URL(url).port));
    played = await stage.play({ ports, calls, requests: callerRequests(askedOf(config)) });
  } catch {
    played = { ...played, failed: 1 };
  }
  for (const cancel of ends) cancel();
  await stage.close();
  for (const gateway of gateways) gateway.cut();
  await Promise.all(gateways.map((gateway) => gateway.close()));
  return { ...played, tookUs: clock.nowUs() - startUs };
}

type Start = (config: GatewayConfig) => Promise<Gateway>;

/** What its callers are likely to ask it for. */
function askedOf({ models, upstreams }: GatewayConfig): Asked[] {
  return models.slice(0, MODELS_MAX).flatMap(({ name, targets }) => {
    const upstream = upstreams.find((one) => one.name === targets[0]?.upstream);
    const model = name === "*" ? "rehearsal" : name;
    return FORMATS[upstream?.format ?? "any"].map((format) => ({ model, format }));
  });
}
