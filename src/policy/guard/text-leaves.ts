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

/** @returns texts in their order, joined by line ends. Pictures and other data in base64 are left out. */
export function textOf(value: unknown): string {
  const leaves: string[] = [];
  gather({ value, isFree: false }, leaves);
  return leaves.join("\n");
}

/** Of a call's arguments as JSON text: that text, and each of its strings as the tool will see it. */
export function argumentsText(name: string, json: string): string {
  const leaves = [name, json];
  const said = parsed(json);
  if (said !== undefined) gather(said, leaves);
  return leaves.join("\n");
}

interface Place {
  readonly value: unknown;
  /** Within arguments. */
  readonly isFree: boolean;
  /** The name of a field, which is said as it stands. */
  readonly isKey?: true;
}

/** With a stack of its own: text is found at any depth, since what is nested deep enough to be overlooked would go unchecked. */
function gather(root: Place, leaves: string[]): void {
  const stack = [root];
  for (let place = stack.pop(); place !== undefined; place = stack.pop()) {
    const { value, isFree, isKey } = place;
    if (typeof value === "string") {
      if (value !== "" || isKey) leaves.push(value);
    } else if (isFree && (typeof value === "number" || typeof value === "boolean")) {
      leaves.push(String(value));
    } else if (typeof value === "object" && value !== null) {
      const inside = Array.isArray(value)
        ? value.map((one: unknown): Place => ({ value: one, isFree }))
        : fieldsOf(value, isFree);
      for (let at = inside.length - 1; at >= 0; at -= 1) stack.push(inside[at]!);
    }
  }
}

/** What is said in an object, in its order. */
function fieldsOf(value: object, isFree: boolean): Place[] {
  const inside: Place[] = [];
  const isBase64 = !isFree && isEncodedSource(value);
  for (const [key, field] of Object.entries(value)) {
    if (isFree) inside.push({ value: key, isFree, isKey: true });
    else if (NOT_SAID.has(key) || (isBase64 && key === "data") || isDataUrl(key, field)) continue;
    const isSaid = isFree || SAID_AS_JSON.has(key);
    inside.push({ value: field, isFree: isSaid });
    const said = isSaid && !isFree && typeof field === "string" ? parsed(field) : undefined;
    if (said !== undefined) inside.push(said);
  }
  return inside;
}

/** Anthropic's pictures and files, and OpenAI's audio; a text document of Anthropic's has `data` as well, in the clear. */
function isEncodedSource(value: object): boolean {
  const { type, format } = value as { type?: unknown; format?: unknown };
  return type === "base64" || (typeof format === "string" && "data" in value);
}

function isDataUrl(key: string, field: unknown): boolean {
  return ADDRESSES.has(key) && typeof field === "string" && field.startsWith("data:");
}

/** @returns undefined for what is no JSON, and for a value whose text is all that there is. */
function parsed(json: string): Place | undefined {
  try {
    const value: unknown = JSON.parse(json);
    const isText = typeof value === "object" || typeof value === "string";
    return isText ? { value, isFree: true } : undefined;
  } catch {
    // A model can break its JSON; the text itself is there.
    return undefined;
  }
}
