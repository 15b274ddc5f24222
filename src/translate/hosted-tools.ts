/**
 * Tools that only their provider knows: those that it runs itself, and those whose schema is trained into its models. A
 * request that has them is refused, unless the operator would rather have an answer without them.
 */
import { type Fields, untranslatable } from "./fields.ts";

export type HostedTools = "refuse" | "drop";

/** @throws MANX_TRANSLATE_FIELD if such tools are refused. */
export function leaveOutTool(wire: Fields, type: string, hostedTools: HostedTools): void {
  if (hostedTools === "refuse") {
    throw untranslatable(wire.at("type"), `a tool of type ${type} is known to its provider only`);
  }
  wire.notes.dropped(wire.path, "a tool that only its provider knows");
}
