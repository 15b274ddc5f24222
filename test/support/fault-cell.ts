/**
 * One cell of the fault matrix, live: an upstream with one fault, a gateway in front of it, an official client as the
 * caller. What comes back is what the caller saw, how long it took, and what was left behind.
 */
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { GatewayConfig, UpstreamConfig } from "../../src/gateway/config/index.ts";
import { type Gateway, startConfigured } from "../../src/gateway/index.ts";
import { simpleConfig } from "../../src/gateway/simple-config.ts";
import { CALL_POLICY } from "../../src/policy/index.ts";
import { type Fault, MATRIX_LIMITS_MS, type Reach, type Verdict } from "./fault.ts";
import { ask, type CallerApi, endsInBand, isOwnError, type Told } from "./fault-caller.ts";
import { makeCertificate } from "./fault-certificate.ts";
import { type FaultPhase, FULL_TEXT, type UpstreamApi, wholeSteps } from "./fault-wire.ts";
import { type ReplayServer, type Step, sleep, startReplayServer } from "./replay-server.ts";

export interface FaultCell {
  readonly fault: Fault;
  readonly phase: FaultPhase;
  readonly isStream: boolean;
  readonly caller: CallerApi;
  readonly api: UpstreamApi;
  /** A second target that is well. */
  readonly hasSpare: boolean;
}

export interface CellResult {
  readonly cell: FaultCell;
  readonly expected: Verdict;
  /** Whatever is none of the verdicts, told in words. */
  readonly seen: string;
  readonly tookMs: number;
  /** What was left behind; empty if nothing. */
  readonly left: readonly string[];
}

const FAULTY = "be faulty";
const FINE = "be fine";
const S_IN_MS = 1_000;

export function expectedOf(cell: FaultCell): Verdict {
  const { fault, phase, isStream, hasSpare, caller, api } = cell;
  if (caller !== api && fault.translated !== undefined) return fault.translated;
  const isAfterContent = isStream && (phase === "after" || phase === "tool");
  const alone = fault.alone ?? (isAfterContent ? "in-band" : "status");
  if (!hasSpare) return alone;
  if (fault.withSpare !== undefined) return fault.withSpare;
  return alone === "status" ? "whole" : alone;
}

export function titleOf({ fault, phase, isStream, caller, api, hasSpare }: FaultCell): string {
  const where = fault.phases.length > 1 ? ` ${PHASES[phase]}` : "";
  const mode = isStream ? "stream" : "whole answer";
  const way = caller === api ? caller : `${caller} caller, ${api} upstream`;
  return `${fault.name}${where}, ${mode}, ${way}, ${hasSpare ? "a spare" : "alone"}`;
}

const PHASES = {
  head: "at once",
  before: "before content",
  after: "after content",
  tool: "within a tool call",
};

export async function playCell(cell: FaultCell): Promise<CellResult> {
  const world = await makeWorld(cell);
  try {
    const sentMs = performance.now();
    const told = await ask(world.gateway.url, {
      caller: cell.caller,
      isStream: cell.isStream,
      prompt: FAULTY,
    });
    const tookMs = performance.now() - sentMs;
    const seen = verdictOf(cell, told, world.faultyBytes);
    return { cell, expected: expectedOf(cell), seen, tookMs, left: await world.leftBehind() };
  } finally {
    await world.close();
  }
}

/** @returns the verdict, or what is wrong in words. */
function verdictOf({ caller, api, isStream }: FaultCell, told: Told, faulty: string): string {
  const { text, thrown, status, raw } = told;
  if (thrown === undefined) {
    return text === FULL_TEXT ? "whole" : `TRUNCATED: taken for whole with ${JSON.stringify(text)}`;
  }
  if (status >= 400) return isOwnError(caller, raw) ? "status" : `an error of no format: ${raw}`;
  if (status === 0) return `no answer: ${String(thrown)}`;
  if (isStream && endsInBand(caller, raw)) return "in-band";
  if (caller === api && raw === faulty) return "passed";
  return `broken: ${String(thrown)} after ${JSON.stringify(raw.slice(-300))}`;
}

interface World {
  readonly gateway: Gateway;
  /** Body of the faulty answer, without its chunks. */
  readonly faultyBytes: string;
  leftBehind(): Promise<string[]>;
  close(): Promise<void>;
}

async function makeWorld(cell: FaultCell): Promise<World> {
  const { api, isStream, fault, hasSpare } = cell;
  const fine = wholeSteps(api, isStream);
  const steps = fault.steps(cell);
  let faulted = 0;
  const script = ({ body }: { body: string }): readonly Step[] => {
    if (!body.includes(FAULTY)) return fine;
    faulted += 1;
    return fault.passes === true && faulted > 1 ? fine : steps;
  };
  const reached = await reach(fault.reach ?? "plain", script);
  const spare = hasSpare ? await startReplayServer(() => fine) : undefined;
  const gateway = await startConfigured(configOf(cell, reached, spare?.url));
  const servers = [reached.server, spare].filter((one) => one !== undefined);
  return {
    gateway,
    faultyBytes: bodyOf(steps),
    leftBehind: () => leftBehind(cell, gateway),
    close: async () => {
      await gateway.close();
      for (let tries = 0; tries < 400 && servers.some((one) => one.openConnections > 0); tries += 1)
        await sleep(5);
      const open = servers.reduce((sum, one) => sum + one.openConnections, 0);
      await Promise.all(servers.map((one) => one.close()));
      reached.remove();
      if (open > 0) throw new Error(`${titleOf(cell)}: ${open} sockets outlive the gateway`);
    },
  };
}

/** What is still open when the call is over; and whether its place is free for the next one, which has to be whole. */
async function leftBehind(cell: FaultCell, gateway: Gateway): Promise<string[]> {
  const left = (): string[] => {
    const { open, idle } = gateway.connections();
    const found = [];
    if (gateway.inFlight() > 0) found.push(`${gateway.inFlight()} requests in flight`);
    if (open !== idle) found.push(`${open - idle} busy connections`);
    return found;
  };
  for (let tries = 0; tries < 400 && left().length > 0; tries += 1) await sleep(5);
  const found = left();
  const { caller, isStream, hasSpare, fault } = cell;
  const isThere = fault.reach === undefined || fault.reach === "tls-good";
  if (!hasSpare && !isThere) return found;
  const next = await ask(gateway.url, { caller, isStream, prompt: FINE });
  if (next.text !== FULL_TEXT || next.thrown !== undefined) {
    found.push(`the next call fails: ${String(next.thrown ?? next.text)}`);
  }
  return found;
}

/** The bytes that a chunked script says. */
function bodyOf(steps: readonly Step[]): string {
  return steps
    .slice(1)
    .map(({ bytes }) => Buffer.from((bytes ?? "") as Uint8Array).toString("latin1"))
    .map((chunk) => chunk.replace(/^[0-9a-f]+\r\n/, "").replace(/\r\n$/, ""))
    .join("");
}

interface Reached {
  readonly url: string;
  readonly caPath: string | null;
  readonly server: ReplayServer | undefined;
  remove(): void;
}

async function reach(
  how: Reach,
  script: (hit: { body: string }) => readonly Step[],
): Promise<Reached> {
  const remove = (): void => undefined;
  if (how === "no-name") {
    // Reserved for never being one (RFC 6761).
    return { url: "http://gone.invalid", caPath: null, server: undefined, remove };
  }
  if (how === "plain" || how === "refused" || how === "tls-silent") {
    // A server that is asked in TLS and hears no HTTP in it says nothing.
    const server = await startReplayServer(script);
    const url = how === "tls-silent" ? server.url.replace("http:", "https:") : server.url;
    if (how === "refused") await server.close();
    return { url, caPath: null, server: how === "refused" ? undefined : server, remove };
  }
  const certificate = makeCertificate({
    ...(how === "tls-expired" && { goodForS: -60 }),
    ...(how === "tls-other-name" && { name: "other.invalid" }),
  });
  const server = await startReplayServer(script, certificate);
  if (how === "tls-unknown") return { url: server.url, caPath: null, server, remove };
  const folder = mkdtempSync(join(tmpdir(), "manx-fault-"));
  const caPath = join(folder, "ca.pem");
  writeFileSync(caPath, certificate.cert);
  return { url: server.url, caPath, server, remove: () => rmSync(folder, { recursive: true }) };
}

/** One place in front, so that a place that is not given back stops the next call. */
function configOf(
  { api, hasSpare, fault }: FaultCell,
  { url, caPath }: Reached,
  spareUrl: string | undefined,
): GatewayConfig {
  const us = (ms: number): number => ms * S_IN_MS;
  const limits = MATRIX_LIMITS_MS;
  const base = simpleConfig({
    upstream: url,
    preconnect: 0,
    limits: { drainUs: us(100) },
    timeouts: {
      connectUs: us(limits.connect),
      headersUs: us(limits.headers),
      firstContentUs: us(limits.firstContent),
      lifeGapUs: us(limits.lifeGap),
      progressGapUs: us(limits.progressGap),
      thinkingGapUs: us(limits.progressGap),
    },
    policy: {
      retry: {
        ...CALL_POLICY.retry,
        attemptsMax: hasSpare || fault.passes === true ? 2 : 1,
        backoffBaseUs: us(20),
      },
    },
  });
  const [first] = base.upstreams as [UpstreamConfig];
  const format = api === "anthropic" ? ("anthropic" as const) : ("openai" as const);
  const bad = { ...first, name: "bad", format, tls: { caPath, serverName: null } };
  const upstreams: UpstreamConfig[] = [bad];
  if (spareUrl !== undefined) upstreams.push({ ...bad, name: "spare", urls: [spareUrl] });
  const targets = upstreams.map(({ name: upstream }, order) => {
    return { upstream, model: null, weight: 1, order };
  });
  const [model] = base.models;
  return {
    ...base,
    upstreams,
    models: [{ ...model!, targets }],
    admission: {
      lanes: [{ name: "all", tokensMax: Infinity, share: 0, tokensInFlightMax: Infinity }],
      concurrency: { kind: "fixed", limit: 1 },
      ageMaxUs: us(500),
    },
  };
}
