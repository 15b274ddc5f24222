/**
 * The configuration that a gateway rehearses with: its own, with everything that reaches somebody pointed at the stage. What
 * is left as it is keeps the shape of its objects, and code that was compiled for these shapes serves the real ones too.
 */
import { devNull } from "node:os";
import type { GatewayConfig, LogConfig, UpstreamConfig } from "../config/index.ts";

/**
 * Without keys, traces, shared state and checks, which ask others; and without what tenants may spend, for which these calls
 * would wait.
 *
 * @param stage base URL of the stage's upstream.
 */
export function stagedConfig(config: GatewayConfig, stage: string): GatewayConfig {
  const { admission, listen, limits, log } = config;
  return {
    ...config,
    listen: { ...listen, host: "127.0.0.1", port: 0, workers: 1, rehearsal: 0 },
    admin: null,
    upstreams: config.upstreams.map((upstream) => stagedUpstream(upstream, stage)),
    admission: admission && { ...admission, tenant: {}, tenants: {} },
    keys: { source: "none" },
    log: { ...log, access: stagedLog(log) },
    otlp: null,
    state: null,
    guardrails: [],
    limits: { ...limits, graceUs: 0, drainUs: 0 },
  };
}

/** The key stays out of it; a prefix for each replica tells them apart. */
function stagedUpstream(upstream: UpstreamConfig, stage: string): UpstreamConfig {
  const urls = upstream.urls.map((_, i) => (i === 0 ? stage : `${stage}/replica-${i}`));
  const tls = { ...upstream.tls, caPath: null };
  return { ...upstream, urls, key: null, tls };
}

function stagedLog({ access }: LogConfig): LogConfig["access"] {
  return access === "off" ? "off" : { path: devNull };
}
