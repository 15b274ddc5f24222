/** The text in a piece of JSON of one of the APIs: what a person or a model has said, without the names that hold it together. */

/** Names and marks of the APIs, which nobody says. Within arguments of a call all is said. */
const NOT_SAID: ReadonlySet<string> = new Set([
  "id",
  "type",
  "role",
  "object",
  "status",
  "call_id",
  "tool_call_id",
  "tool_use_id",
  "item_id",
  "finish_reason",
  "stop_reason",
  "cache_control",
  "signature",
  "encrypted_content",
  "media_type",
  "detail",
  "logprobs",
]);
/** What may hold a picture or a file as a `data:` URL. */
const ADDRESSES: ReadonlySet<string> = new Set(["url", "image_url", "file_data", "file_url"]);
/** Where the model's own words are JSON. */
const SAID_AS_JSON: ReadonlySet<string> = new Set(["arguments", "input"]);
const DEPTH_MAX = 64;

/** @returns texts in their order, joined by line ends. Pictures and other data in base64 are left out. */
export function textOf(value: unknown): string {
  const leaves: string[] = [];
  gather(value, leaves, { isFree: false, depth: 0 });
  return leaves.join("\n");
}

/** Of a call's arguments as JSON text: that text, and each of its strings as the tool will see it. */
export function argumentsText(name: string, json: string): string {
  const leaves = [name, json];
  gatherParsed(json, leaves, 0);
  return leaves.join("\n");
}

interface Place {
  /** Within arguments. */
  readonly isFree: boolean;
  readonly depth: number;
}

function gather(value: unknown, leaves: string[], { isFree, depth }: Place): void {
  if (typeof value === "string") {
    if (value !== "") leaves.push(value);
    return;
  }
  if (isFree && (typeof value === "number" || typeof value === "boolean")) {
    leaves.push(String(value));
    return;
  }
  if (typeof value !== "object" || value === null || depth >= DEPTH_MAX) return;
  if (Array.isArray(value)) {
    for (const one of value) gather(one, leaves, { isFree, depth: depth + 1 });
    return;
  }
  const isBase64 = !isFree && isEncodedSource(value);
  for (const [key, field] of Object.entries(value)) {
    if (isFree) leaves.push(key);
    else if (NOT_SAID.has(key) || (isBase64 && key === "data") || isDataUrl(key, field)) continue;
    const isSaid = isFree || SAID_AS_JSON.has(key);
    gather(field, leaves, { isFree: isSaid, depth: depth + 1 });
    if (isSaid && !isFree && typeof field === "string") gatherParsed(field, leaves, depth + 1);
  }
}

/** Anthropic's pictures and files, and OpenAI's audio; a text document of Anthropic's has `data` as well, in the clear. */
function isEncodedSource(value: object): boolean {
  const { type, format } = value as { type?: unknown; format?: unknown };
  return type === "base64" || (typeof format === "string" && "data" in value);
}

function isDataUrl(key: string, field: unknown): boolean {
  return ADDRESSES.has(key) && typeof field === "string" && field.startsWith("data:");
}

function gatherParsed(json: string, leaves: string[], depth: number): void {
  try {
    const value: unknown = JSON.parse(json);
    if (typeof value === "object") gather(value, leaves, { isFree: true, depth });
  } catch {
    // A model can break its JSON; the text itself is there.
  }
}
