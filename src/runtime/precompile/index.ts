/** Validators of tools' JSON Schemas, written to a module ahead of the start. Loads ajv: for builds, not for agents. */
export { namedSchemas } from "./named-schemas.ts";
export { type NamedSchema, type PrecompiledModule, validatorModule } from "./validator-module.ts";
