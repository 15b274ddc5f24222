/** Images and documents: inline bytes as a data URL or apart, or an address. */

import type { Source } from "./canonical-request.ts";
import { type Fields, malformed, untranslatable } from "./fields.ts";

const DATA_URL = /^data:([\w.+-]+\/[\w.+-]+)?(?:;[\w.+-]+=[\w.+-]+)*;base64,/i;

/** @param url a data URL or an address. */
export function sourceOf(url: string, where: string): Source {
  if (!/^data:/i.test(url)) {
    if (!/^https?:\/\//i.test(url)) throw malformed(where, "an http or data URL", url);
    return { kind: "url", url };
  }
  const head = DATA_URL.exec(url);
  if (head === null) throw untranslatable(where, "a data URL is taken in base64 only");
  const mediaType = (head[1] ?? "application/octet-stream").toLowerCase();
  return { kind: "base64", mediaType, data: url.slice(head[0].length) };
}

export function urlOf(source: Source): string {
  return source.kind === "url" ? source.url : `data:${source.mediaType};base64,${source.data}`;
}

/** Anthropic's form. */
export function readSource(
  fields: Fields,
): Source | { readonly kind: "text"; readonly text: string } {
  const type = fields.textNeeded("type");
  if (type === "url") return { kind: "url", url: fields.textNeeded("url") };
  const data = (): string => fields.textNeeded("data");
  if (type === "base64") {
    return { kind: "base64", mediaType: fields.textNeeded("media_type"), data: data() };
  }
  if (type === "text") {
    fields.ignore("media_type");
    return { kind: "text", text: data() };
  }
  throw untranslatable(fields.path, `a source of type ${type} lives at its provider`);
}

export function writeSource(source: Source): object {
  if (source.kind === "url") return { type: "url", url: source.url };
  return { type: "base64", media_type: source.mediaType, data: source.data };
}
