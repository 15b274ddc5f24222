/** A request as a model's cache wants it: one order for what has none, and marks where the provider wants to be told. */
import { parseJsonObject } from "../../http/index.ts";
import { cacheMinimum, inCanonicalOrder, markOutlook, withCacheMarks } from "../../policy/index.ts";
import type { StreamFormat } from "../../stream/index.ts";
import type { CacheMarksConfig } from "../config/index.ts";

export interface LaidOutBody {
  readonly body: Buffer;
  /** Marks were set that the provider should honour: its usage will tell. */
  readonly isPlanned: boolean;
}

/** Who gets it. */
export interface CacheTarget {
  readonly format: StreamFormat;
  /** As the upstream calls it, for the length that a prefix must have. */
  readonly model: string;
}

/**
 * @param body as the upstream would get it.
 * @throws MANX_REQUEST_INVALID
 */
export function laidOutBody(
  body: Buffer,
  config: CacheMarksConfig,
  target: CacheTarget,
): LaidOutBody {
  const given = parseJsonObject(body);
  try {
    return layOut(body, given, config, target);
  } catch {
    // Nested too deep to be written again; it goes as it came, and its upstream may say what it thinks of it.
    return { body, isPlanned: false };
  }
}

function layOut(
  body: Buffer,
  given: Readonly<Record<string, unknown>>,
  { order, marks, minimumTokens }: CacheMarksConfig,
  { format, model }: CacheTarget,
): LaidOutBody {
  const ordered = order ? inCanonicalOrder(given) : given;
  if (!marks || format !== "anthropic-messages") {
    return { body: order ? jsonOf(ordered) : body, isPlanned: false };
  }
  const minimum = minimumTokens ?? cacheMinimum(model)?.tokens ?? null;
  const { body: marked, markedTokens } = withCacheMarks(ordered, { minimumTokens: minimum });
  const isPlanned = markedTokens > 0 && markOutlook(markedTokens, minimum) === "works";
  return { body: jsonOf(marked), isPlanned };
}

function jsonOf(value: object): Buffer {
  return Buffer.from(JSON.stringify(value));
}
