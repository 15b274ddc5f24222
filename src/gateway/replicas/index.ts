/** The replicas of a self-hosted upstream: watched in the background, picked by prefix, load and health. */
export { type PromptShape, promptShape } from "./prompt-shape.ts";
export {
  type ReplicaOptions,
  ReplicaSet,
  type ReplicaSetOptions,
  type ReplicaStatus,
} from "./replica-set.ts";
