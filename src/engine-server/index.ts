/** The engine twin in real time, behind OpenAI's API. */
export { type EngineServer, type EngineServerOptions, startEngineServer } from "./engine-server.ts";
export { approximateTokens } from "./prompt-digest.ts";
