/** Portkey's config object: a tree of strategies whose leaves are targets. It becomes one model, `*`. */
import { Imported, keyReference } from "./imported.ts";
import { findProvider } from "./providers.ts";
import type { ReadMarks } from "./read-marks.ts";

type Path = readonly (string | number)[];

/** Each field under both its spellings. */
const either = (marks: ReadMarks, at: Path, snake: string): unknown =>
  marks.take([...at, snake]) ??
  marks.take([...at, snake.replace(/_(\w)/g, (_, c: string) => c.toUpperCase())]);

/** A tree this deep is no configuration. */
const DEPTH_MAX = 16;

interface Place {
  readonly order: number;
  readonly weight: number;
}

export function fromPortkey(marks: ReadMarks): Imported {
  const imported = new Imported();
  readNode(marks, imported, [], { order: 0, weight: 1 });
  readPolicy(marks, imported);
  return imported;
}

/** @returns the order after the last one used. */
function readNode(marks: ReadMarks, imported: Imported, at: Path, place: Place): number {
  const count = marks.length([...at, "targets"]);
  if (count === 0 || at.length > 2 * DEPTH_MAX) {
    readTarget(marks, imported, at, place);
    return place.order + 1;
  }
  const mode = marks.text([...at, "strategy", "mode"]) ?? "single";
  const where = at.join(".") || "strategy";
  if (marks.take([...at, "strategy", "on_status_codes"]) !== undefined) {
    imported.note(
      where,
      "which errors lead to the next target is fixed: time-outs, 429, 5xx, broken answers",
    );
  }
  if (mode === "conditional") {
    marks.take([...at, "strategy"]);
    imported.note(
      where,
      "conditions have no equal: give models names of their own; targets are taken in order",
    );
  }
  let { order } = place;
  for (let i = 0; i < count; i += 1) {
    const child = [...at, "targets", i];
    const share = marks.number([...child, "weight"]) ?? 1;
    if (mode === "loadbalance") {
      if (share > 0)
        readNode(marks, imported, child, { order: place.order, weight: place.weight * share });
      else marks.take(child);
    } else if (mode === "single" && i > 0) marks.take(child);
    else order = readNode(marks, imported, child, { order, weight: place.weight });
  }
  return Math.max(order, place.order + 1);
}

function readTarget(
  marks: ReadMarks,
  imported: Imported,
  at: Path,
  { order, weight }: Place,
): void {
  const where = at.join(".") || "the configuration";
  const provider = marks.text([...at, "provider"]);
  const virtual = either(marks, at, "virtual_key");
  const host = either(marks, at, "custom_host");
  const given = either(marks, at, "api_key");
  if (provider === undefined) {
    imported.note(where, virtual === undefined ? "it names no provider; left out" : VIRTUAL);
    return;
  }
  const found = findProvider(provider.replace(/^@/, "").split("/")[0]!);
  const url = typeof host === "string" ? host : undefined;
  if (found === undefined || (url === undefined && found.provider.url === undefined)) {
    const why = found === undefined ? "speaks neither format" : "has no custom_host";
    imported.note(where, `${provider} ${why}; left out`);
    return;
  }
  if (virtual !== undefined)
    imported.note(where, `its virtual key stays with Portkey; set ${found.provider.variable}`);
  const { key, isInClear } = keyReference(
    typeof given === "string" ? given : undefined,
    found.provider.variable,
  );
  if (isInClear)
    imported.note(`${where}.api_key`, `stood in clear and is not copied; set ${key.slice(4)}`);
  const hasKey = given !== undefined || found.provider.kind === "provider";
  const upstream = imported.upstream({
    name: found.name,
    provider: found.provider,
    url,
    key: hasKey ? key : undefined,
  });
  const params =
    marks.peek([...at, "override_params"]) === undefined ? "overrideParams" : "override_params";
  const model = marks.text([...at, params, "model"]);
  imported.target("*", {
    upstream,
    ...(model !== undefined && { model }),
    ...(weight !== 1 && { weight }),
    ...(order !== 0 && { order }),
  });
}

const VIRTUAL = "a virtual key alone does not say which provider it is; left out";

function readPolicy(marks: ReadMarks, imported: Imported): void {
  const attempts = marks.number(["retry", "attempts"]);
  const timeoutMs = either(marks, [], "request_timeout");
  if (marks.take(["retry", "on_status_codes"]) !== undefined) {
    imported.note(
      "retry.on_status_codes",
      "which errors are retried is fixed: time-outs, 429, 5xx, broken answers",
    );
  }
  const policy = {
    ...(typeof timeoutMs === "number" && { timeouts: { headers: `${Math.round(timeoutMs)}ms` } }),
    ...(attempts !== undefined && { retry: { attempts: Math.min(10, Math.max(1, attempts + 1)) } }),
  };
  if (Object.keys(policy).length > 0) imported.others.policies = { default: policy };
}
