/** The section `engine` of the configuration file. */
export { type EngineSection, engineSchema } from "./engine-schema.ts";
export { type EngineSetup, engineSetup } from "./engine-setup.ts";
export { atItsPlace } from "./error-places.ts";
