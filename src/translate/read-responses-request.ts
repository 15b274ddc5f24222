/** A request for an OpenAI response as it is meant. Fields: docs/how-to/translation.md. */
import { readCacheMark } from "./cache-mark.ts";
import type {
  CanonicalRequest,
  ContentPart,
  OutputForm,
  Part,
  ThinkingPart,
  Tool,
  ToolChoice,
  Turn,
} from "./canonical-request.ts";
import { readEffort } from "./effort.ts";
import { Fields, malformed, untranslatable } from "./fields.ts";
import { type HostedTools, leaveOutTool } from "./hosted-tools.ts";
import { sourceOf } from "./media.ts";
import type { Notes } from "./notes.ts";
import { allowedTools, readNamedSchema } from "./read-chat-request.ts";
import { readSeal } from "./seal.ts";

/** @throws MANX_REQUEST_INVALID, MANX_TRANSLATE_FIELD */
export function readResponsesRequest(
  body: unknown,
  notes: Notes,
  hostedTools: HostedTools,
): CanonicalRequest {
  const fields = new Fields(body, "", notes);
  const model = fields.textNeeded("model");
  for (const name of ["previous_response_id", "conversation", "prompt"]) {
    fields.refuse(name, "what it refers to lives at its provider; send the whole input");
  }
  if (fields.flag("background") === true) {
    throw untranslatable("background", "the other format answers on the same connection only");
  }
  const { tools, toolChoice } = readTools(fields, hostedTools);
  const reasoning = fields.object("reasoning");
  reasoning?.ignore("summary", "generate_summary");
  const request: CanonicalRequest = {
    model,
    turns: [...readInstructions(fields), ...readInput(fields)],
    tools,
    toolChoice,
    parallelCalls: fields.flag("parallel_tool_calls") ?? null,
    tokensMax: fields.count("max_output_tokens") ?? null,
    temperature: fields.number("temperature") ?? null,
    topP: fields.number("top_p") ?? null,
    topK: null,
    stop: [],
    isStream: fields.flag("stream") ?? false,
    includeUsage: true,
    reasoning: readEffort(reasoning?.text("effort"), "reasoning.effort"),
    outputForm: readText(fields),
    userId: fields.text("user") ?? fields.text("safety_identifier") ?? null,
  };
  // Nothing is stored by a format that cannot, and encrypted reasoning is always passed on.
  fields.ignore("store", "include", "stream_options", "safety_identifier");
  reasoning?.dropRest();
  fields.dropRest();
  return request;
}

function readInstructions(fields: Fields): Turn[] {
  const text = fields.text("instructions");
  if (text === undefined || text === "") return [];
  return [
    { role: "system", parts: [{ kind: "text", text, cacheMark: null }], path: "instructions" },
  ];
}

/** Items of one turn lie side by side here; writers join turns of one role. */
function readInput(fields: Fields): Turn[] {
  const input = fields.textOrObjects("input");
  if (input === undefined) throw malformed("input", "a string or list", undefined);
  if (typeof input === "string") {
    const parts = [{ kind: "text", text: input, cacheMark: null } as const];
    return [{ role: "user", parts, path: "input" }];
  }
  return input.map((item) => {
    const turn = readItem(item);
    item.ignore("id", "status", "phase");
    item.dropRest();
    return turn;
  });
}

function readItem(item: Fields): Turn {
  const { path } = item;
  const type = item.text("type") ?? "message";
  switch (type) {
    case "message":
      return { role: readRole(item), parts: readContent(item, "content"), path };
    case "function_call": {
      const part = {
        kind: "call",
        id: item.textNeeded("call_id"),
        name: item.textNeeded("name"),
        argumentsText: item.text("arguments") ?? "",
        cacheMark: null,
      } as const;
      return { role: "assistant", parts: [part], path };
    }
    case "function_call_output": {
      const callId = item.textNeeded("call_id");
      const parts = readContent(item, "output");
      const part = { kind: "result", callId, parts, isError: false, cacheMark: null } as const;
      return { role: "user", parts: [part], path };
    }
    case "reasoning":
      return { role: "assistant", parts: readReasoning(item), path };
    default:
      throw untranslatable(item.at("type"), `an item of type ${type} lives at its provider`);
  }
}

function readRole(item: Fields): Turn["role"] {
  const role = item.textNeeded("role");
  if (role === "developer" || role === "system") return "system";
  if (role === "user" || role === "assistant") return role;
  throw malformed(item.at("role"), "user, assistant, system or developer", role);
}

function readReasoning(item: Fields): Part[] {
  const sealed = item.text("encrypted_content") ?? "";
  const texts = item.objects("summary").map((part) => part.text("text") ?? "");
  item.ignore("content");
  const own = { owner: "openai-responses", kind: "redacted" } as const;
  const thinking: ThinkingPart = {
    kind: "thinking",
    text: texts.join("\n\n"),
    seal: readSeal(sealed, own),
  };
  return [thinking];
}

function readContent(item: Fields, name: string): ContentPart[] {
  const content = item.textOrObjects(name);
  if (content === undefined) return [];
  if (typeof content === "string") return [{ kind: "text", text: content, cacheMark: null }];
  return content.map((part) => {
    const read = readPart(part);
    part.ignore("annotations", "logprobs");
    part.dropRest();
    return read;
  });
}

function readPart(part: Fields): ContentPart {
  const type = part.textNeeded("type");
  const cacheMark = readCacheMark(part);
  switch (type) {
    case "input_text":
    case "output_text":
    case "text":
      return { kind: "text", text: part.textNeeded("text"), cacheMark };
    case "refusal":
      return { kind: "text", text: part.textNeeded("refusal"), cacheMark };
    case "input_image": {
      part.refuse("file_id", "a file that was uploaded lives at its provider");
      if (part.text("detail") === "auto") part.ignore("detail");
      else part.drop("detail", "the other format has no level of detail");
      const url = part.textNeeded("image_url");
      return { kind: "image", source: sourceOf(url, part.at("image_url")), cacheMark };
    }
    case "input_file": {
      part.refuse("file_id", "a file that was uploaded lives at its provider");
      const url = part.text("file_url") ?? part.textNeeded("file_data");
      const source = sourceOf(url, part.at("file_data"));
      return { kind: "document", source, name: part.text("filename") ?? null, cacheMark };
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
    const tool: Tool = {
      name: wire.textNeeded("name"),
      description: wire.text("description") ?? null,
      schema: wire.json("parameters") ?? null,
      isStrict: wire.flag("strict") ?? null,
      cacheMark: null,
    };
    wire.dropRest();
    return [tool];
  });
  const wire = fields.raw("tool_choice");
  if (wire === undefined) return { tools, toolChoice: null };
  if (wire === "auto" || wire === "none" || wire === "required") {
    return { tools, toolChoice: { kind: wire } };
  }
  const choice = new Fields(wire, "tool_choice", fields.notes);
  const type = choice.textNeeded("type");
  if (type === "function") {
    return { tools, toolChoice: { kind: "named", name: choice.textNeeded("name") } };
  }
  if (type === "allowed_tools") return allowedTools(choice, tools);
  throw untranslatable("tool_choice.type", `a choice of type ${type}`);
}

function readText(fields: Fields): OutputForm | null {
  const text = fields.object("text");
  const format = text?.object("format");
  text?.dropRest();
  const type = format?.textNeeded("type");
  if (format === undefined || type === "text") return null;
  if (type === "json_object") return { kind: "json" };
  if (type === "json_schema") return readNamedSchema(format);
  throw malformed(format.at("type"), "text, json_object or json_schema", type);
}
