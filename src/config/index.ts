/** The configuration file: read with positions, put together with variables and flags, checked by a section's schema. */
export { readConfigFile, readConfigText } from "./config-file.ts";
export { configJsonSchema } from "./config-json-schema.ts";
export type { ConfigPath } from "./config-path.ts";
export { ConfigWatch, type ConfigWatchOptions, stampOf } from "./config-watch.ts";
export type { Env, GivenValue } from "./env-values.ts";
export { issueText } from "./issue-text.ts";
export {
  type CheckedConfig,
  checkConfig,
  checkSection,
  firstOf,
  type ReadConfigOptions,
  readConfig,
  SECTIONS,
  type SectionName,
} from "./read-config.ts";
export type { JsonSchema } from "./schema-outline.ts";
export { Secret, type SecretPlaces } from "./secret.ts";
export { SectionConfig, type Setting, type Source } from "./section-config.ts";
export { readTextFile } from "./text-file.ts";
export { duration, name, secret, share, size } from "./written-forms.ts";
