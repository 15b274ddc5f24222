/** The written section → the plain `GatewayConfig`: units read, defaults of groups put in, secrets wrapped. */
import type { ConfigPath } from "../../config/index.ts";
import type { AdmissionOptions, TenantLimits } from "../../policy/index.ts";
import { GATEWAY_LIMITS, type GatewayLimits } from "../limits.ts";
import { ADAPTIVE_WRITTEN, type WrittenAdmission } from "./admission-schema.ts";
import type {
  AuthHeader,
  GatewayConfig,
  GuardrailConfig,
  GuardrailWindowConfig,
  ModelConfig,
  OtlpConfig,
  PolicyConfig,
  UpstreamConfig,
} from "./gateway-config.ts";
import type { WrittenOtlp } from "./gateway-schema.ts";
import type { WrittenGuardrail, WrittenGuardrailWindow } from "./guardrail-schema.ts";
import {
  BREAKER_WRITTEN,
  HEDGE_WRITTEN,
  policySchema,
  type WrittenPolicy,
} from "./policy-schema.ts";
import { CACHE_MARKS_WRITTEN, type WrittenModel, type WrittenUpstream } from "./upstream-schema.ts";
import type { WrittenReader } from "./written-reader.ts";

export const DEFAULT_POLICY = "default";
/** How clients of each format send their key. */
const AUTH_HEADERS: Readonly<Record<UpstreamConfig["format"], AuthHeader>> = {
  openai: "bearer",
  anthropic: "x-api-key",
  any: "bearer",
};

/** What cannot be read is an error of the reader's, with a stand-in here; the caller looks at the errors first. */
export function resolveGateway(reader: WrittenReader): GatewayConfig {
  const { written } = reader;
  const upstreams = written.upstreams.map((one, i) => upstreamOf(reader, one, ["upstreams", i]));
  const policies = Object.entries({
    [DEFAULT_POLICY]: policySchema.parse({}),
    ...written.policies,
  });
  const resolved = policies.map(([name, one]) => [name, policyOf(reader, one, ["policies", name])]);
  const byName = Object.fromEntries(resolved) as Record<string, PolicyConfig>;
  const { admin, otlp, keys, log } = written;
  return {
    listen: written.listen,
    admin: admin && { ...admin, key: reader.secret(admin.key, ["admin", "key"]) },
    upstreams,
    models: written.models.length > 0 ? written.models.map(modelOf) : everyName(upstreams),
    policies: byName,
    admission: written.admission && admissionOf(reader, written.admission),
    keys: keys.source === "file" ? { ...keys, path: reader.filePath(keys.path) } : keys,
    prices: written.prices,
    log: { access: accessOf(reader, log.access), client: log.client },
    otlp: otlp && otlpOf(reader, otlp),
    state: written.state === null ? null : reader.secret(written.state, ["state"]),
    guardrails: written.guardrails.map((one, i) => guardrailOf(reader, one, ["guardrails", i])),
    guardrailWindow: windowOf(reader, written.guardrailWindow),
    warmUpFrom: written.warmUpFrom,
    limits: limitsOf(reader),
  };
}

function upstreamOf(reader: WrittenReader, one: WrittenUpstream, at: ConfigPath): UpstreamConfig {
  const { url, urls, key, authHeader, idle, tls, allowPlainHttp: _, ...rest } = one;
  return {
    ...rest,
    urls: urls ?? (url === undefined ? [] : [url]),
    key: key === null ? null : reader.secret(key, [...at, "key"]),
    authHeader: authHeader ?? AUTH_HEADERS[one.format],
    // The default gives way to a limit that somebody wrote.
    preconnect: Math.min(one.preconnect, one.connections),
    idleUs: reader.durationUs(idle, [...at, "idle"]),
    tls: { caPath: tls.ca === null ? null : reader.filePath(tls.ca), serverName: tls.serverName },
  };
}

function modelOf({ name, policy, targets, cacheMarks }: WrittenModel): ModelConfig {
  const plain = { model: null, weight: 1, order: 0 };
  return {
    name,
    policy,
    cacheMarks:
      cacheMarks === true ? CACHE_MARKS_WRITTEN : cacheMarks === false ? null : cacheMarks,
    targets: targets.map((one) => (typeof one === "string" ? { ...plain, upstream: one } : one)),
  };
}

/** Without models, all names go to the one upstream as they are; more than one is an error of the checks. */
function everyName(upstreams: readonly UpstreamConfig[]): ModelConfig[] {
  const [first] = upstreams;
  if (first === undefined) return [];
  const target = { upstream: first.name, model: null, weight: 1, order: 0 };
  return [{ name: "*", targets: [target], policy: DEFAULT_POLICY, cacheMarks: null }];
}

function policyOf(reader: WrittenReader, one: WrittenPolicy, at: ConfigPath): PolicyConfig {
  const us = (text: string, ...path: string[]): number => reader.durationUs(text, [...at, ...path]);
  const { timeouts, retry } = one;
  const hedge = one.hedge === true ? HEDGE_WRITTEN : one.hedge;
  const breaker = one.breaker === true ? BREAKER_WRITTEN : one.breaker;
  return {
    deadlineUs: us(one.deadline, "deadline"),
    timeouts: {
      connectUs: us(timeouts.connect, "timeouts", "connect"),
      headersUs: us(timeouts.headers, "timeouts", "headers"),
      firstContentUs: us(timeouts.firstContent, "timeouts", "firstContent"),
      lifeGapUs: us(timeouts.lifeGap, "timeouts", "lifeGap"),
      progressGapUs: us(timeouts.progressGap, "timeouts", "progressGap"),
      thinkingGapUs: us(timeouts.thinkingGap, "timeouts", "thinkingGap"),
    },
    retry: {
      attemptsMax: retry.attempts,
      backoffBaseUs: us(retry.backoff, "retry", "backoff"),
      backoffCapUs: us(retry.backoffMax, "retry", "backoffMax"),
      retryAfterMaxUs: us(retry.retryAfterMax, "retry", "retryAfterMax"),
      share: retry.share,
    },
    hedge:
      hedge === false
        ? null
        : {
            percentile: hedge.percentile,
            floorUs: us(hedge.floor, "hedge", "floor"),
            share: hedge.share,
            sameTarget: hedge.sameTarget,
          },
    breaker:
      breaker === false
        ? null
        : {
            windowUs: us(breaker.window, "breaker", "window"),
            callsMin: breaker.callsMin,
            failShare: breaker.failShare,
            slowUs: breaker.slow === "auto" ? 0 : us(breaker.slow, "breaker", "slow"),
            slowShare: breaker.slowShare,
            openUs: us(breaker.open, "breaker", "open"),
          },
    stall: one.stall,
    gateUs: us(one.gate, "gate"),
  };
}

function admissionOf(reader: WrittenReader, one: WrittenAdmission): AdmissionOptions {
  const us = (text: string, ...path: string[]): number =>
    reader.durationUs(text, ["admission", ...path]);
  const { concurrency: places, lanes } = one;
  const adaptive = typeof places === "object" ? places : ADAPTIVE_WRITTEN;
  const { probeEvery, ...range } = adaptive;
  return {
    ...(lanes !== undefined && {
      lanes: lanes.map((lane) => ({
        name: lane.name,
        tokensMax: lane.tokens ?? Number.POSITIVE_INFINITY,
        share: lane.share,
        tokensInFlightMax: lane.tokensInFlight ?? Number.POSITIVE_INFINITY,
      })),
    }),
    concurrency:
      typeof places === "number"
        ? { kind: "fixed", limit: places }
        : { kind: "adaptive", ...range, probeEveryUs: us(probeEvery, "concurrency", "probeEvery") },
    queueMax: one.queue,
    tenantQueueFactor: one.tenantQueueFactor,
    ageMaxUs: us(one.age, "age"),
    ageingUs: us(one.ageing, "ageing"),
    outputWeight: one.outputWeight,
    tenant: tenantOf(one.tenant),
    tenants: Object.fromEntries(
      Object.entries(one.tenants).map(([name, limits]) => [name, tenantOf(limits)]),
    ),
    tenantsMax: one.tenantsMax,
  };
}

function tenantOf(one: WrittenAdmission["tenant"]): Partial<TenantLimits> {
  const { concurrency, tokensPerMinute, burstTokens, weight } = one;
  return {
    ...(concurrency !== undefined && { concurrencyMax: concurrency }),
    ...(tokensPerMinute !== undefined && { tokensPerMinute }),
    ...(burstTokens !== undefined && { burstTokens }),
    ...(weight !== undefined && { weight }),
  };
}

function otlpOf(reader: WrittenReader, one: WrittenOtlp): OtlpConfig {
  const { headers, slow, ...rest } = one;
  const secrets = Object.entries(headers).map(([name, text]) => [
    name,
    reader.secret(text, ["otlp", "headers", name]),
  ]);
  return {
    ...rest,
    headers: Object.fromEntries(secrets) as OtlpConfig["headers"],
    slowUs: reader.durationUs(slow, ["otlp", "slow"]),
  };
}

function accessOf(reader: WrittenReader, access: string): GatewayConfig["log"]["access"] {
  return access === "off" || access === "stdout" ? access : { path: reader.filePath(access) };
}

function guardrailOf(
  reader: WrittenReader,
  one: WrittenGuardrail,
  at: ConfigPath,
): GuardrailConfig {
  const { budget, ...rest } = one;
  const budgetUs = reader.durationUs(budget, [...at, "budget"]);
  if (rest.kind !== "http") return { ...rest, budgetUs };
  const key = rest.key === null ? null : reader.secret(rest.key, [...at, "key"]);
  return { ...rest, key, budgetUs };
}

function windowOf(reader: WrittenReader, one: WrittenGuardrailWindow): GuardrailWindowConfig {
  return {
    windowChars: one.window,
    overlapChars: one.overlap,
    waitUs: reader.durationUs(one.wait, ["guardrailWindow", "wait"]),
    heldBytesMax: reader.sizeBytes(one.held, ["guardrailWindow", "held"]),
  };
}

type LimitTime = "write" | "receive" | "receiveHead" | "clientIdle" | "grace" | "drain";

/** The limits that hold for every call beside those that a policy sets. */
function limitsOf(reader: WrittenReader): GatewayLimits {
  const { limits } = reader.written;
  const us = (name: LimitTime): number => reader.durationUs(limits[name], ["limits", name]);
  const bytes = (name: "body" | "bodies" | "head"): number =>
    reader.sizeBytes(limits[name], ["limits", name]);
  return {
    ...GATEWAY_LIMITS,
    writeUs: us("write"),
    receiveUs: us("receive"),
    receiveHeadUs: us("receiveHead"),
    clientIdleUs: us("clientIdle"),
    graceUs: us("grace"),
    drainUs: us("drain"),
    bodyBytes: bytes("body"),
    bodiesBytes: bytes("bodies"),
    headBytes: bytes("head"),
    connections: limits.requests,
    clients: limits.clients,
  };
}
