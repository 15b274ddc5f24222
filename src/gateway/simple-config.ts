/** The configuration of a gateway that is started by a program with one upstream and no file. */
import { CALL_POLICY, GUARD_WINDOW, type PhaseTimeouts } from "../policy/index.ts";
import type { GatewayConfig, PolicyConfig } from "./config/index.ts";
import { completeLimits, completeTimeouts, type GatewayLimits } from "./limits.ts";
import { parseUpstream } from "./upstream-url.ts";

export interface SimpleOptions {
  /** Where every request goes, such as `https://api.openai.com` or `http://127.0.0.1:8000`. */
  readonly upstream: string;
  /** Default 127.0.0.1. */
  readonly host?: string;
  /** Default 0: any free port. */
  readonly port?: number;
  readonly limits?: Partial<GatewayLimits>;
  /** How calls are retried, hedged and given up; what is left out is as in `CALL_POLICY`. */
  readonly policy?: Partial<Omit<PolicyConfig, "timeouts">>;
  /** Limits of an attempt by phase; what is left out is as in `CALL_POLICY`. */
  readonly timeouts?: Partial<PhaseTimeouts>;
  /** Upstream connections that are opened at the start and kept open. Default 4, at most `limits.connections`. */
  readonly preconnect?: number;
}

export const PRECONNECT_DEFAULT = 4;
const GATE_US = 10_000_000;

/** @throws MANX_URL, MANX_FLAG_VALUE */
export function simpleConfig(options: SimpleOptions): GatewayConfig {
  const limits = completeLimits(options.limits ?? {});
  parseUpstream(options.upstream);
  const policy: PolicyConfig = {
    ...CALL_POLICY,
    timeouts: completeTimeouts(options.timeouts ?? {}),
    gateUs: GATE_US,
    ...options.policy,
  };
  const name = "upstream";
  return {
    listen: {
      host: options.host ?? "127.0.0.1",
      port: options.port ?? 0,
      workers: 1,
      rehearsal: 0,
    },
    admin: null,
    upstreams: [
      {
        name,
        urls: [options.upstream],
        format: "any",
        kind: "other",
        key: null,
        authHeader: "bearer",
        connections: limits.connections,
        preconnect: options.preconnect ?? PRECONNECT_DEFAULT,
        idleUs: limits.idleUs,
        http2: "auto",
        tls: { caPath: null, serverName: null },
        canPrefill: false,
        hostedTools: "refuse",
        router: "least-load",
        region: null,
      },
    ],
    models: [
      {
        name: "*",
        policy: "default",
        cacheMarks: null,
        targets: [{ upstream: name, model: null, weight: 1, order: 0 }],
      },
    ],
    policies: { default: policy },
    admission: null,
    keys: { source: "none" },
    prices: null,
    log: { access: "off", client: false },
    otlp: null,
    state: null,
    guardrails: [],
    guardrailWindow: GUARD_WINDOW,
    warmUpFrom: "loopback",
    limits,
  };
}
