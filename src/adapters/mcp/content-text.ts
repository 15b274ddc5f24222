/** What a model reads of an MCP result: texts as they are, of everything else what it is. */
import { canonicalJson } from "../../runtime/canonical-json.ts";
import { isObject, type JsonObject, textOf } from "../../stream/wire-words.ts";

/** @returns "" for a result that says nothing. */
export function contentText(result: unknown): string {
  if (!isObject(result)) return "";
  const { content, structuredContent } = result;
  const parts = (Array.isArray(content) ? content : []).filter(isObject).map(partText);
  const text = parts.filter((part) => part !== "").join("\n");
  if (text !== "" || structuredContent === undefined) return text;
  return canonicalJson(structuredContent) ?? "";
}

function partText(part: JsonObject): string {
  const kind = textOf(part.type);
  switch (kind) {
    case "text":
      return textOf(part.text);
    case "resource":
      return resourceText(part.resource);
    case "resource_link":
      return `[${textOf(part.name) || "resource"}: ${textOf(part.uri)}]`;
    default: {
      const size = textOf(part.data).length;
      return `[${kind || "content"} ${textOf(part.mimeType)}, ${size} characters of base64]`;
    }
  }
}

function resourceText(resource: unknown): string {
  if (!isObject(resource)) return "";
  const text = textOf(resource.text);
  return text === "" ? `[resource: ${textOf(resource.uri)}]` : text;
}
