/** The engine twin in real time, behind OpenAI's API. */
export {
  atItsPlace,
  type EngineSection,
  type EngineSetup,
  engineSchema,
  engineSetup,
} from "./config/index.ts";
export { type EngineServer, type EngineServerOptions, startEngineServer } from "./engine-server.ts";
export { faultFields } from "./fault-schema.ts";
export type { PaceReading } from "./pace.ts";
export { approximateTokens } from "./prompt-digest.ts";
export { type RehearsalOptions, rehearse } from "./rehearsal.ts";
