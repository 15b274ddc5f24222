/** The proxy between agents and models: pooled connections, chunk by chunk, no hidden limit, no truncated success. */
export { type GatewayOptions, startConfigured, startGateway } from "./gateway.ts";
export type { Gateway, GatewayConnections, GatewayParts } from "./gateway-contract.ts";
export { GATEWAY_LIMITS, type GatewayLimits, type LimitsInEffect } from "./limits.ts";
export {
  type PromptShape,
  promptShape,
  type ReplicaOptions,
  ReplicaSet,
  type ReplicaSetOptions,
  type ReplicaStatus,
} from "./replicas/index.ts";
export {
  type Claim,
  type Grant,
  type Lease,
  type SharedFacts,
  SharedState,
  type SharedStateFacts,
  type SharedStateOptions,
} from "./shared-state/index.ts";
export { PRECONNECT_DEFAULT } from "./simple-config.ts";
export { OUTCOMES, type Outcome } from "./upstream-fault.ts";
export { parseUpstream, type UpstreamUrl } from "./upstream-url.ts";
