/** Other gateways' configurations, read into ours. */
export { IMPORT_SOURCES, type ImportedConfig, importConfig } from "./import-config.ts";
