/** A request for an Anthropic message as it is meant. Fields: docs/how-to/translation.md. */
import { readCacheMark } from "./cache-mark.ts";
import type {
  CanonicalRequest,
  ContentPart,
  OutputForm,
  Part,
  Reasoning,
  Tool,
  ToolChoice,
  Turn,
} from "./canonical-request.ts";
import { isEffort } from "./effort.ts";
import { Fields, malformed, untranslatable } from "./fields.ts";
import { type HostedTools, leaveOutTool } from "./hosted-tools.ts";
import { readSource } from "./media.ts";
import type { Notes } from "./notes.ts";
import { readSeal } from "./seal.ts";

/** @throws MANX_REQUEST_INVALID, MANX_TRANSLATE_FIELD */
export function readMessagesRequest(
  body: unknown,
  notes: Notes,
  hostedTools: HostedTools,
): CanonicalRequest {
  const fields = new Fields(body, "", notes);
  const model = fields.textNeeded("model");
  fields.refuse("container", "a container lives at its provider");
  fields.refuse("mcp_servers", "servers that the provider calls itself are unknown elsewhere");
  fields.drop("cache_control", "the other provider caches by itself");
  const output = fields.object("output_config");
  const outputForm = readOutputForm(output ?? fields);
  const request: CanonicalRequest = {
    model,
    turns: [...readSystem(fields), ...readTurns(fields)],
    tools: fields.objects("tools").flatMap((wire) => readTool(wire, hostedTools)),
    ...readChoice(fields),
    tokensMax: fields.count("max_tokens") ?? null,
    temperature: fields.number("temperature") ?? null,
    topP: fields.number("top_p") ?? null,
    topK: fields.count("top_k") ?? null,
    stop: readStop(fields),
    isStream: fields.flag("stream") ?? false,
    // This API always tells its usage.
    includeUsage: true,
    reasoning: readThinking(fields.object("thinking"), output),
    outputForm,
    userId: readUser(fields),
  };
  output?.dropRest();
  fields.dropRest();
  return request;
}

function readSystem(fields: Fields): Turn[] {
  const system = fields.textOrObjects("system");
  if (system === undefined || system.length === 0) return [];
  if (typeof system === "string") {
    return [{ role: "system", parts: [textPart(system)], path: "system" }];
  }
  return [{ role: "system", parts: system.map(readContentPart), path: "system" }];
}

function readTurns(fields: Fields): Turn[] {
  if (fields.list("messages") === undefined) throw malformed("messages", "a list", undefined);
  return fields.objects("messages").map((message) => {
    const role = message.textNeeded("role");
    if (role !== "user" && role !== "assistant" && role !== "system") {
      throw malformed(message.at("role"), "user, assistant or system", role);
    }
    const content = message.textOrObjects("content");
    if (content === undefined) throw malformed(message.at("content"), "a string or list", content);
    const parts = typeof content === "string" ? [textPart(content)] : content.map(readPart);
    message.dropRest();
    return { role, parts, path: message.path };
  });
}

function textPart(text: string): ContentPart {
  return { kind: "text", text, cacheMark: null };
}

function readPart(part: Fields): Part {
  switch (part.textNeeded("type")) {
    case "tool_use": {
      const call = {
        kind: "call",
        id: part.textNeeded("id"),
        name: part.textNeeded("name"),
        argumentsText: JSON.stringify(part.json("input") ?? {}),
        cacheMark: readCacheMark(part),
      } as const;
      part.ignore("caller");
      part.dropRest();
      return call;
    }
    case "tool_result":
      return readResult(part);
    case "thinking": {
      const data = part.text("signature") ?? "";
      const own = { owner: "anthropic-messages", kind: "signature" } as const;
      return { kind: "thinking", text: part.text("thinking") ?? "", seal: readSeal(data, own) };
    }
    case "redacted_thinking": {
      const own = { owner: "anthropic-messages", kind: "redacted" } as const;
      return { kind: "thinking", text: "", seal: readSeal(part.textNeeded("data"), own) };
    }
    default:
      return readContentPart(part);
  }
}

function readResult(part: Fields): Part {
  const content = part.textOrObjects("content") ?? [];
  const parts = typeof content === "string" ? [textPart(content)] : content.map(readContentPart);
  const result = {
    kind: "result",
    callId: part.textNeeded("tool_use_id"),
    parts,
    isError: part.flag("is_error") ?? false,
    cacheMark: readCacheMark(part),
  } as const;
  part.dropRest();
  return result;
}

function readContentPart(part: Fields): ContentPart {
  const type = part.textNeeded("type");
  const cacheMark = readCacheMark(part);
  const read = readByType(type, part, cacheMark);
  part.dropRest();
  return read;
}

function readByType(type: string, part: Fields, cacheMark: ContentPart["cacheMark"]): ContentPart {
  if (type === "text") return { kind: "text", text: part.textNeeded("text"), cacheMark };
  if (type !== "image" && type !== "document") {
    throw untranslatable(part.at("type"), `a block of type ${type} is known to its provider only`);
  }
  const fields = part.object("source");
  if (fields === undefined) throw malformed(part.at("source"), "an object", undefined);
  const source = readSource(fields);
  fields.dropRest();
  // The text of a document is text to every model.
  if (source.kind === "text") return { kind: "text", text: source.text, cacheMark };
  if (type === "image") return { kind: "image", source, cacheMark };
  return { kind: "document", source, name: part.text("title") ?? null, cacheMark };
}

function readTool(wire: Fields, hostedTools: HostedTools): Tool[] {
  const type = wire.text("type") ?? "custom";
  if (type !== "custom") {
    leaveOutTool(wire, type, hostedTools);
    return [];
  }
  const tool: Tool = {
    name: wire.textNeeded("name"),
    description: wire.text("description") ?? null,
    schema: wire.json("input_schema") ?? null,
    isStrict: wire.flag("strict") ?? null,
    cacheMark: readCacheMark(wire),
  };
  // It asks for arguments to be streamed without a delay, as the other APIs do by themselves.
  wire.ignore("eager_input_streaming");
  wire.dropRest();
  return [tool];
}

function readChoice(fields: Fields): {
  toolChoice: ToolChoice | null;
  parallelCalls: boolean | null;
} {
  const choice = fields.object("tool_choice");
  if (choice === undefined) return { toolChoice: null, parallelCalls: null };
  const type = choice.textNeeded("type");
  const isSerial = choice.flag("disable_parallel_tool_use");
  const parallelCalls = isSerial === undefined ? null : !isSerial;
  switch (type) {
    case "auto":
    case "none":
      return { toolChoice: { kind: type }, parallelCalls };
    case "any":
      return { toolChoice: { kind: "required" }, parallelCalls };
    case "tool":
      return { toolChoice: { kind: "named", name: choice.textNeeded("name") }, parallelCalls };
    default:
      throw malformed(choice.at("type"), "auto, any, tool or none", type);
  }
}

function readStop(fields: Fields): string[] {
  return (fields.list("stop_sequences") ?? []).map((one, i) => {
    if (typeof one === "string") return one;
    throw malformed(`stop_sequences[${i}]`, "a string", one);
  });
}

function readThinking(thinking: Fields | undefined, output: Fields | undefined): Reasoning | null {
  const word = output?.text("effort");
  if (word !== undefined && !isEffort(word)) {
    throw malformed("output_config.effort", "low, medium, high, xhigh or max", word);
  }
  const effort = word ?? null;
  if (thinking === undefined) {
    return effort === null ? null : { mode: "auto", effort, budgetTokens: null };
  }
  thinking.ignore("display");
  const type = thinking.textNeeded("type");
  const budgetTokens = thinking.count("budget_tokens") ?? null;
  thinking.dropRest();
  switch (type) {
    case "disabled":
      return { mode: "off", effort: null, budgetTokens: null };
    case "enabled":
      return { mode: "on", effort, budgetTokens };
    default:
      // Ways to let the model decide when.
      return { mode: "auto", effort, budgetTokens: null };
  }
}

/** @param output `output_config`, or the body, where an earlier version of the API had the format. */
function readOutputForm(output: Fields): OutputForm | null {
  const format = output.object(output.path === "" ? "output_format" : "format");
  if (format === undefined) return null;
  const type = format.textNeeded("type");
  if (type !== "json_schema") throw malformed(format.at("type"), "json_schema", type);
  const schema = format.json("schema") ?? {};
  return { kind: "schema", name: "output", description: null, schema, isStrict: null };
}

function readUser(fields: Fields): string | null {
  const metadata = fields.object("metadata");
  const user = metadata?.text("user_id") ?? null;
  metadata?.dropRest();
  return user;
}
