/**
 * What the gateway runs by: plain, complete, times in µs. Made from the file's section by `resolveGateway`, and the only
 * thing that the rest of the gateway reads. Nothing in it changes; a reload makes another one.
 */
import type { Secret } from "../../config/index.ts";
import type { AdmissionOptions, CallPolicy } from "../../policy/index.ts";
import type { KeyRecord } from "../keys/key-record.ts";
import type { PriceTable } from "../keys/price-table.ts";
import type { GatewayLimits } from "../limits.ts";

export interface GatewayConfig {
  readonly listen: ListenConfig;
  /** On a port of its own; null = off. */
  readonly admin: AdminConfig | null;
  /** At least one; names differ. */
  readonly upstreams: readonly UpstreamConfig[];
  /** At least one; names differ. Exact names are looked up before `*`. */
  readonly models: readonly ModelConfig[];
  /** By name; there is always a `default`. */
  readonly policies: Readonly<Record<string, PolicyConfig>>;
  /** Lanes and limits; null = whatever comes is let in. */
  readonly admission: AdmissionOptions | null;
  readonly keys: KeysConfig;
  /** For budgets in money; null = none is known. */
  readonly prices: PriceTable | null;
  readonly log: LogConfig;
  readonly otlp: OtlpConfig | null;
  /** `redis://…`, where several gateways share budgets, lanes and breakers; secret, since it may hold a password. */
  readonly state: Secret | null;
  /** From cheap to dear. */
  readonly guardrails: readonly GuardrailConfig[];
  readonly guardrailWindow: GuardrailWindowConfig;
  /** Whose calls may be marked as warm-up, beside those with a key that may: this machine's own, or everyone's. */
  readonly warmUpFrom: "loopback" | "anyone";
  readonly limits: GatewayLimits;
}

export interface ListenConfig {
  readonly host: string;
  /** 0 = any free one. */
  readonly port: number;
  /** Processes that share the port. */
  readonly workers: number;
  /** Calls that each process makes to itself before it listens; 0 = none. */
  readonly rehearsal: number;
}

export interface AdminConfig {
  readonly host: string;
  readonly port: number;
  /** What callers of it must send as a bearer token. */
  readonly key: Secret;
}

/**
 * What an upstream's API is; `openai` is chat completions, responses, completions and embeddings. Calls in the other one's
 * format are translated; `any` gets each call as it came.
 */
export type UpstreamFormat = "openai" | "anthropic" | "any";
export type UpstreamKind = "provider" | "vllm" | "sglang" | "other";
/** Header that carries the key; `bearer` is `Authorization: Bearer …`. */
export type AuthHeader = "bearer" | "x-api-key" | "api-key";

export interface UpstreamConfig {
  readonly name: string;
  /** At least one; more are replicas of each other. As given: `https://api.openai.com`, with or without `/v1`. */
  readonly urls: readonly string[];
  readonly format: UpstreamFormat;
  readonly kind: UpstreamKind;
  /** null: the caller's own credentials are passed on. */
  readonly key: Secret | null;
  readonly authHeader: AuthHeader;
  /** Most connections to each URL. */
  readonly connections: number;
  /** Opened ahead and kept open, to each URL. */
  readonly preconnect: number;
  /** How long an unused connection is kept; a hint of the upstream comes first. */
  readonly idleUs: number;
  readonly http2: "auto" | "never";
  readonly tls: {
    /** PEM file of certificate authorities to trust instead of the system's; an absolute path. */
    readonly caPath: string | null;
    /** Name that the certificate must have, if it is not the URL's. */
    readonly serverName: string | null;
  };
  /** It goes on with a last message of the assistant, so that a stalled answer can be continued. */
  readonly canPrefill: boolean;
  /** What becomes of tools that only the caller's provider knows, in calls that are translated for this upstream. */
  readonly hostedTools: "refuse" | "drop";
  /** Among replicas. */
  readonly router: "round-robin" | "least-load" | "prefix";
  /** Hedges go to another region than the first attempt if there is one. */
  readonly region: string | null;
}

export interface ModelConfig {
  /** What callers ask for; `*` is every name that no other model has. */
  readonly name: string;
  /** At least one. */
  readonly targets: readonly TargetConfig[];
  /** Name of a policy. */
  readonly policy: string;
  /** null: prompts go on as they came, and are not compared. */
  readonly cacheMarks: CacheMarksConfig | null;
}

export interface CacheMarksConfig {
  /** Tools, keys of schemas and results of calls in one order. */
  readonly order: boolean;
  /** `cache_control` where the upstream speaks Anthropic's format. */
  readonly marks: boolean;
  /** Of a prefix that the model keeps; null = as known of the model by its name. */
  readonly minimumTokens: number | null;
}

export interface TargetConfig {
  /** Name of an upstream. */
  readonly upstream: string;
  /** What the upstream calls the model; null = as the caller does. */
  readonly model: string | null;
  /** Share among targets of one order, above 0. */
  readonly weight: number;
  /** Lower ones first. */
  readonly order: number;
}

export interface PolicyConfig extends CallPolicy {
  /**
   * How long the head of a stream is held back until something of substance follows it, so that a failure until then is
   * an honest status and not an error in band. 0 = the head goes on at once.
   */
  readonly gateUs: number;
}

export type KeysConfig =
  /** Callers need no key of ours. */
  | { readonly source: "none" }
  | { readonly source: "inline"; readonly keys: readonly KeyRecord[] }
  /** Written by `manx gateway key`; an absolute path. Read again when it changes. */
  | { readonly source: "file"; readonly path: string };

export interface LogConfig {
  /** Access log as JSON lines: nowhere, to stdout, or to a file. */
  readonly access: "off" | "stdout" | { readonly path: string };
  /** With the address that each request came from. */
  readonly client: boolean;
}

export interface OtlpConfig {
  /** Base URL of an OTLP/HTTP endpoint; traces go to `/v1/traces` below it. */
  readonly url: string;
  readonly headers: Readonly<Record<string, Secret>>;
  /** Of requests that are sent, 0 to 1; a trace that the caller has sampled is, and what failed or was slow. */
  readonly share: number;
  /** Without first output, or without an answer, for this long is slow. */
  readonly slowUs: number;
  /** Which names the attributes of a model's call have. */
  readonly names: "current" | "old";
}

interface GuardrailBase {
  readonly name: string;
  readonly stage: "request" | "output";
  /** What the check may take; then `onFailure` decides. */
  readonly budgetUs: number;
  readonly onFailure: "open" | "closed";
  /** `unsure`: only if one before it could not tell. */
  readonly when: "always" | "unsure";
  /** Names of models whose calls it checks; null = all. */
  readonly models: readonly string[] | null;
  /** Of a request: what has come since the model's last answer, or all of it. */
  readonly scope: "new" | "all";
}

/** How a streamed answer is checked: see `GuardPolicy`. */
export interface GuardrailWindowConfig {
  readonly windowChars: number;
  readonly overlapChars: number;
  readonly waitUs: number;
  readonly heldBytesMax: number;
}

export type GuardrailConfig =
  | (GuardrailBase & {
      readonly kind: "pattern";
      readonly patterns: readonly string[];
      /** What a match means. */
      readonly onMatch: "flag" | "unsure";
    })
  | (GuardrailBase & { readonly kind: "http"; readonly url: string; readonly key: Secret | null })
  | (GuardrailBase & {
      readonly kind: "model";
      /** Name of a model of this configuration. */
      readonly model: string;
      readonly instruction: string;
    });
