/** The gateway's configuration: its schema, its plain form, its checks, and what a change of it means. */
export { type ConfigDiff, diffConfig } from "./config-diff.ts";
export type {
  AdminConfig,
  AuthHeader,
  CacheMarksConfig,
  GatewayConfig,
  GuardrailConfig,
  GuardrailWindowConfig,
  KeysConfig,
  ListenConfig,
  LogConfig,
  ModelConfig,
  OtlpConfig,
  PolicyConfig,
  TargetConfig,
  UpstreamConfig,
  UpstreamFormat,
  UpstreamKind,
} from "./gateway-config.ts";
export { gatewaySchema } from "./gateway-schema.ts";
export { missingSecrets } from "./gateway-secrets.ts";
export { type ObservedCalls, readObservedCalls } from "./observed-calls.ts";
export {
  type CheckedGateway,
  checkGatewayConfig,
  configFromUpstream,
  type ReadGateway,
  type ReadGatewayOptions,
  readGatewayConfig,
} from "./read-gateway-config.ts";
export { DEFAULT_POLICY } from "./resolve-gateway.ts";
export type { Notice } from "./written-reader.ts";
