/** A chat completion request as it is meant. Fields: docs/how-to/translation.md. */

import { readCacheMark } from "./cache-mark.ts";
import type {
  CallPart,
  CanonicalRequest,
  ContentPart,
  OutputForm,
  Part,
  Tool,
  ToolChoice,
  Turn,
} from "./canonical-request.ts";
import { readEffort } from "./effort.ts";
import { Fields, malformed, untranslatable } from "./fields.ts";
import { type HostedTools, leaveOutTool } from "./hosted-tools.ts";
import { sourceOf } from "./media.ts";
import type { Notes } from "./notes.ts";

/** @throws MANX_REQUEST_INVALID, MANX_TRANSLATE_FIELD */
export function readChatRequest(
  body: unknown,
  notes: Notes,
  hostedTools: HostedTools,
): CanonicalRequest {
  const fields = new Fields(body, "", notes);
  refuseWhatChangesTheAnswer(fields);
  const model = fields.textNeeded("model");
  const turns = readTurns(fields);
  const { tools, toolChoice } = readTools(fields, hostedTools);
  const streamOptions = fields.object("stream_options");
  const tokensMax = fields.count("max_completion_tokens") ?? fields.count("max_tokens") ?? null;
  fields.ignore("max_tokens");
  const request: CanonicalRequest = {
    model,
    turns,
    tools,
    toolChoice,
    parallelCalls: fields.flag("parallel_tool_calls") ?? null,
    tokensMax,
    temperature: fields.number("temperature") ?? null,
    topP: fields.number("top_p") ?? null,
    topK: fields.count("top_k") ?? null,
    stop: readStop(fields),
    isStream: fields.flag("stream") ?? false,
    includeUsage: streamOptions?.flag("include_usage") ?? false,
    reasoning: readEffort(fields.text("reasoning_effort"), fields.at("reasoning_effort")),
    outputForm: readOutputForm(fields),
    userId: fields.text("user") ?? fields.text("safety_identifier") ?? null,
  };
  fields.ignore("safety_identifier");
  fields.dropRest();
  return request;
}

function refuseWhatChangesTheAnswer(fields: Fields): void {
  const choices = fields.count("n");
  if (choices !== undefined && choices > 1)
    throw untranslatable("n", "the other format has one choice");
  if (fields.flag("logprobs") === true) {
    throw untranslatable("logprobs", "the other format has no probabilities");
  }
  const modalities = fields.list("modalities") ?? ["text"];
  if (modalities.some((one) => one !== "text")) {
    throw untranslatable("modalities", "the other format answers in text only");
  }
  fields.refuse("audio", "the other format answers in text only");
  fields.refuse("web_search_options", "the search of one provider is not that of another");
  fields.refuse("functions", "send `tools`, which replaced it");
  fields.refuse("function_call", "send `tool_choice`, which replaced it");
}

/** Results of calls are a user's turn here: one for those that belong together, with what the user says after them. */
function readTurns(fields: Fields): Turn[] {
  if (fields.list("messages") === undefined) throw malformed("messages", "a list", undefined);
  return fields.objects("messages").map((message) => {
    const role = message.textNeeded("role");
    const turn = readMessage(role, message);
    message.dropRest();
    return turn;
  });
}

function readMessage(role: string, message: Fields): Turn {
  const { path } = message;
  switch (role) {
    case "system":
    case "developer":
      return { role: "system", parts: readContent(message), path };
    case "user":
      return { role: "user", parts: readContent(message), path };
    case "assistant":
      return { role: "assistant", parts: readAssistant(message), path };
    case "tool": {
      const callId = message.textNeeded("tool_call_id");
      const parts = readContent(message);
      const result = { kind: "result", callId, parts, isError: false, cacheMark: null } as const;
      return { role: "user", parts: [result], path };
    }
    default:
      throw role === "function"
        ? untranslatable(message.at("role"), "send a `tool` message, which replaced it")
        : malformed(message.at("role"), "system, developer, user, assistant or tool", role);
  }
}

function readAssistant(message: Fields): Part[] {
  message.refuse("audio", "the other format has no audio");
  message.refuse("function_call", "send `tool_calls`, which replaced it");
  for (const name of ["reasoning_content", "reasoning", "reasoning_details"]) {
    message.drop(name, "thinking without its provider's signature is not taken back");
  }
  const refusal = message.text("refusal");
  const parts: Part[] = readContent(message);
  if (refusal !== undefined) parts.push({ kind: "text", text: refusal, cacheMark: null });
  for (const call of message.objects("tool_calls")) parts.push(readCall(call));
  return parts;
}

function readCall(call: Fields): CallPart {
  const type = call.text("type") ?? "function";
  if (type !== "function") throw untranslatable(call.at("type"), `a call of type ${type}`);
  const named = call.object("function");
  if (named === undefined) throw malformed(call.at("function"), "an object", undefined);
  const part: CallPart = {
    kind: "call",
    id: call.textNeeded("id"),
    name: named.textNeeded("name"),
    argumentsText: named.text("arguments") ?? "",
    cacheMark: readCacheMark(call),
  };
  call.ignore("index");
  call.dropRest();
  return part;
}

function readContent(message: Fields): ContentPart[] {
  const content = message.textOrObjects("content");
  if (content === undefined) return [];
  if (typeof content === "string") {
    return [{ kind: "text", text: content, cacheMark: readCacheMark(message) }];
  }
  return content.map((part) => {
    const read = readPart(part);
    part.dropRest();
    return read;
  });
}

function readPart(part: Fields): ContentPart {
  const type = part.textNeeded("type");
  const cacheMark = readCacheMark(part);
  switch (type) {
    case "text":
      return { kind: "text", text: part.textNeeded("text"), cacheMark };
    case "refusal":
      return { kind: "text", text: part.textNeeded("refusal"), cacheMark };
    case "image_url": {
      const image = part.object("image_url");
      if (image === undefined) throw malformed(part.at("image_url"), "an object", undefined);
      if (image.text("detail") === "auto") image.ignore("detail");
      else image.drop("detail", "the other format has no level of detail");
      const url = image.textNeeded("url");
      return { kind: "image", source: sourceOf(url, image.at("url")), cacheMark };
    }
    case "file": {
      const file = part.object("file");
      if (file === undefined) throw malformed(part.at("file"), "an object", undefined);
      file.refuse("file_id", "a file that was uploaded lives at its provider");
      const source = sourceOf(file.textNeeded("file_data"), file.at("file_data"));
      return { kind: "document", source, name: file.text("filename") ?? null, cacheMark };
    }
    default:
      throw untranslatable(part.at("type"), `a content part of type ${type}`);
  }
}

function readTools(
  fields: Fields,
  hostedTools: HostedTools,
): { tools: Tool[]; toolChoice: ToolChoice | null } {
  const tools = fields.objects("tools").flatMap((wire): Tool[] => {
    const type = wire.textNeeded("type");
    if (type !== "function") {
      leaveOutTool(wire, type, hostedTools);
      return [];
    }
    const named = wire.object("function");
    if (named === undefined) throw malformed(wire.at("function"), "an object", undefined);
    const tool: Tool = {
      name: named.textNeeded("name"),
      description: named.text("description") ?? null,
      schema: named.json("parameters") ?? null,
      isStrict: named.flag("strict") ?? null,
      cacheMark: readCacheMark(wire) ?? readCacheMark(named),
    };
    named.dropRest();
    wire.dropRest();
    return [tool];
  });
  return readChoice(fields, tools);
}

function readChoice(
  fields: Fields,
  tools: Tool[],
): { tools: Tool[]; toolChoice: ToolChoice | null } {
  const wire = fields.raw("tool_choice");
  if (wire === undefined) return { tools, toolChoice: null };
  if (wire === "auto" || wire === "none" || wire === "required") {
    return { tools, toolChoice: { kind: wire } };
  }
  const choice = new Fields(wire, "tool_choice", fields.notes);
  const type = choice.textNeeded("type");
  if (type === "function") {
    const name = choice.object("function")?.textNeeded("name") ?? choice.textNeeded("name");
    return { tools, toolChoice: { kind: "named", name } };
  }
  if (type !== "allowed_tools")
    throw untranslatable("tool_choice.type", `a choice of type ${type}`);
  return allowedTools(choice.object("allowed_tools") ?? choice, tools);
}

/** The other formats allow a tool by listing it. */
export function allowedTools(
  allowed: Fields,
  tools: readonly Tool[],
): { tools: Tool[]; toolChoice: ToolChoice } {
  const names = new Set(
    allowed.objects("tools").map((one) => one.object("function")?.text("name") ?? one.text("name")),
  );
  const kind = allowed.text("mode") === "required" ? "required" : "auto";
  allowed.notes.changed("tools", "only those that tool_choice allows are listed");
  return { tools: tools.filter((tool) => names.has(tool.name)), toolChoice: { kind } };
}

function readStop(fields: Fields): string[] {
  const stop = fields.raw("stop");
  if (stop === undefined) return [];
  const list = Array.isArray(stop) ? stop : [stop];
  return list.map((one: unknown, i) => {
    if (typeof one === "string") return one;
    throw malformed(`stop[${i}]`, "a string", one);
  });
}

function readOutputForm(fields: Fields): OutputForm | null {
  const format = fields.object("response_format");
  const type = format?.textNeeded("type");
  if (format === undefined || type === "text") return null;
  if (type === "json_object") return { kind: "json" };
  const named = format.object("json_schema");
  if (type !== "json_schema" || named === undefined) {
    throw malformed(format.path, "text, json_object or json_schema", type);
  }
  return readNamedSchema(named);
}

/** A schema with a name, as both of OpenAI's APIs have it. */
export function readNamedSchema(named: Fields): OutputForm {
  return {
    kind: "schema",
    name: named.text("name") ?? "output",
    description: named.text("description") ?? null,
    schema: named.json("schema") ?? {},
    isStrict: named.flag("strict") ?? null,
  };
}
