/**
 * The engine names what is wrong by its own fields, `tokensMax` or `fleet.readyUs`. Whoever wrote `--tokens 0` or line 12
 * of a file is told of that.
 */
import type { ConfigPath, SectionConfig } from "../../config/index.ts";
import { isManxError, type ManxError } from "../../core/index.ts";

/** A key is the engine's field less its unit, but for these. */
const UNIT = /(Us|Max|Tokens|Bytes)$/;
const OTHERS: Readonly<Record<string, ConfigPath>> = {
  kvTokens: ["kvTokens"],
  pieceTokens: ["block"],
  "speculation.draftTokens": ["speculation", "drafts"],
  "fleet.readyUs": ["cold"],
  "fleet.noisyReplicas": ["neighbour", "replicas"],
};

/** @returns the error at the flag, variable or line that set the field; as it is, if it names none. */
export function atItsPlace(thrown: unknown, section: SectionConfig<unknown>): unknown {
  if (!isManxError(thrown) || thrown.where === undefined) return thrown;
  const path = pathOf(thrown.where);
  if (!Object.hasOwn(section.value as object, path[0] ?? "")) return thrown;
  const { what, hint, ...parts } = partsOf(thrown, thrown.where);
  // Written in a file or on the command line, it is no request.
  if (thrown.code === "MANX_REQUEST_INVALID") return section.errorAt(path, parts);
  return section.errorAt(path, { what, hint, ...parts }, thrown.code);
}

function partsOf({ what, expected, got, hint }: ManxError, field: string) {
  const named = `${field}: `;
  return {
    what,
    ...(expected !== undefined && {
      expected: expected.startsWith(named) ? expected.slice(named.length) : expected,
    }),
    ...(got !== undefined && { got }),
    hint,
  };
}

/** The key that sets an engine's field. */
export function pathOf(field: string): ConfigPath {
  const other = OTHERS[field];
  if (other !== undefined) return other;
  return field
    .split(/[.[\]]+/)
    .filter((step) => step !== "")
    .map((step) => (/^\d+$/.test(step) ? Number(step) : step.replace(UNIT, "")));
}
