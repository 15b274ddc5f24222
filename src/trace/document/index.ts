/** The turn document's schema. Apart from the rest of `trace`, which an agent loads without it. */
export { parseTurn } from "./parse-turn.ts";
export { readTurnFile, type TurnFile } from "./read-turn-file.ts";
export {
  TURN_SCHEMA_VERSION,
  TURN_SPANS_MAX,
  type TurnRecord,
  turnJsonSchema,
  turnSchema,
} from "./turn-schema.ts";
