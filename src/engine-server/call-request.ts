/**
 * What the twin understands of a request to `/v1/chat/completions` or `/v1/completions`. Parameters that change neither
 * lengths, order nor the form of the answer (temperature, top_p, stop, …) are accepted and have no effect.
 *
 * Beside OpenAI's own fields and vLLM's `ignore_eos`, `min_tokens` and `priority`, the field `manx` scripts the answer:
 *
 *     "manx": {"output_tokens": 211}                                          text of exactly this length
 *     "manx": {"tool_calls": [{"name": "search", "arguments": {"q": "x"}}]}   these calls, after that text if both
 *     "manx": {"tool_calls": [...], "calls_once": true}                       not once more behind their results
 *     "manx": {"fault": {"kind": "stall", "after": 5, "for": "2s"}}           and what goes wrong (fault-schema.ts)
 */
import {
  asObject,
  type Fields,
  invalid,
  optionalCount,
  optionalFlag,
  optionalList,
  optionalObject,
  optionalText,
  optionalWhole,
  refuseIf,
  refuseUnknownFields,
} from "./fields.ts";
import { PromptDigest } from "./prompt-digest.ts";
import { jsonOfSchema } from "./schema-default.ts";

export interface ScriptedCall {
  readonly name: string;
  /** JSON, as it will be streamed. */
  readonly arguments: string;
}

export interface CallRequest {
  readonly model: string | undefined;
  readonly prompt: PromptDigest;
  /** Limit that the caller set; undefined leaves the rest of the context. */
  readonly maxTokens: number | undefined;
  readonly minTokens: number;
  /** Runs on to the limit, as benchmarks of real engines ask for. */
  readonly ignoreEos: boolean;
  /** Length of the text that the caller scripted. */
  readonly outputTokens: number | undefined;
  readonly toolCalls: readonly ScriptedCall[];
  /** In place of words, for a caller that asked for JSON. */
  readonly json: string | undefined;
  readonly stream: boolean;
  readonly includeUsage: boolean;
  /** Class; the lower, the sooner, as in vLLM. */
  readonly priority: number;
  /** OpenAI's `user`. */
  readonly user: string | undefined;
}

const TOOL_CALLS_MAX = 128;
/** Ageing multiplies it; vLLM takes 64 bits, of which nobody uses more than a few. */
const PRIORITY_MAX = 1_000_000;

/**
 * @param pieceTokens the piece of a prompt that the prefix cache names, if there is one.
 * @throws MANX_REQUEST_INVALID naming the field.
 */
export function parseChatRequest(body: Fields, pieceTokens?: number): CallRequest {
  const script = scriptOf(body);
  const isAnswered =
    optionalFlag(script, "calls_once", "manx.calls_once") && endsInResult(body.messages);
  const toolCalls = isAnswered ? [] : [...scriptedCalls(script), ...forcedCalls(body, script)];
  refuseIf(optionalFlag(body, "logprobs"), "logprobs", "false", true);
  const common = commonOf(body, script);
  const maxTokens = optionalCount(body, "max_tokens", 1);
  const isScripted = toolCalls.length > 0 || common.outputTokens !== undefined;
  const json = formattedJson(body);
  return {
    ...common,
    prompt: digestOfMessages(body, new PromptDigest(pieceTokens)),
    maxTokens: optionalCount(body, "max_completion_tokens", 1) ?? maxTokens,
    toolCalls,
    json: isScripted ? undefined : json,
  };
}

/** As `parseChatRequest`. @throws MANX_REQUEST_INVALID naming the field. */
export function parseCompletionRequest(body: Fields, pieceTokens?: number): CallRequest {
  const script = scriptOf(body);
  refuseIf(optionalFlag(body, "echo"), "echo", "false", true);
  refuseIf((body.logprobs ?? undefined) !== undefined, "logprobs", "nothing", body.logprobs);
  return {
    ...commonOf(body, script),
    prompt: digestOfPrompt(body.prompt, new PromptDigest(pieceTokens)),
    maxTokens: optionalCount(body, "max_tokens", 1),
    toolCalls: [],
    json: undefined,
  };
}

const SCRIPT_FIELDS = ["output_tokens", "tool_calls", "calls_once", "fault"];

function scriptOf(body: Fields): Fields {
  const script = optionalObject(body, "manx") ?? {};
  refuseUnknownFields(script, SCRIPT_FIELDS, "manx");
  return script;
}

/** A model that has got what it asked for says so; one that calls its tools again and again ends no agent's loop. */
function endsInResult(messages: unknown): boolean {
  const last: unknown = Array.isArray(messages) ? messages.at(-1) : undefined;
  return typeof last === "object" && last !== null && "role" in last && last.role === "tool";
}

type Common = Omit<CallRequest, "prompt" | "maxTokens" | "toolCalls" | "json">;

function commonOf(body: Fields, script: Fields): Common {
  const choices = optionalCount(body, "n", 1) ?? 1;
  refuseIf(choices > 1, "n", "1", choices);
  const stream = optionalFlag(body, "stream");
  const streamOptions = optionalObject(body, "stream_options") ?? {};
  return {
    model: optionalText(body, "model"),
    minTokens: optionalCount(body, "min_tokens", 0) ?? 0,
    ignoreEos: optionalFlag(body, "ignore_eos"),
    outputTokens: optionalCount(script, "output_tokens", 1, "manx.output_tokens"),
    stream,
    includeUsage: optionalFlag(streamOptions, "include_usage", "stream_options.include_usage"),
    priority: optionalWhole(body, "priority", PRIORITY_MAX) ?? 0,
    user: optionalText(body, "user"),
  };
}

function digestOfMessages(body: Fields, digest: PromptDigest): PromptDigest {
  const messages = optionalList(body, "messages");
  if (messages === undefined || messages.length === 0) {
    throw invalid("messages", "a list of at least one message", messages);
  }
  for (const [i, value] of messages.entries()) {
    const where = `messages[${i}]`;
    const message = asObject(value, where);
    if (typeof message.role !== "string") {
      throw invalid(`${where}.role`, "a role such as user", message.role);
    }
    addContent(digest, message.content ?? "", `${where}.content`);
    addToolCalls(digest, optionalList(message, "tool_calls", `${where}.tool_calls`) ?? [], where);
  }
  return digest;
}

function addContent(digest: PromptDigest, content: unknown, where: string): void {
  if (typeof content === "string") {
    digest.add(content);
    return;
  }
  if (!Array.isArray(content)) throw invalid(where, "a text or a list of parts", content);
  for (const [i, value] of content.entries()) {
    const part = asObject(value, `${where}[${i}]`);
    const text = part.type === "refusal" ? part.refusal : part.text;
    const ok = part.type === "text" || part.type === "refusal";
    refuseIf(!ok, `${where}[${i}].type`, "text", part.type);
    if (typeof text !== "string") throw invalid(`${where}[${i}].text`, "a text", text);
    digest.add(text);
  }
}

/** Calls of earlier turns are part of the prompt, too. */
function addToolCalls(digest: PromptDigest, calls: readonly unknown[], where: string): void {
  for (const [i, value] of calls.entries()) {
    const call = asObject(value, `${where}.tool_calls[${i}]`);
    const { name, arguments: json } = asObject(call.function, `${where}.tool_calls[${i}].function`);
    if (typeof name === "string") digest.add(name);
    if (typeof json === "string") digest.add(json);
  }
}

function digestOfPrompt(prompt: unknown, digest: PromptDigest): PromptDigest {
  if (typeof prompt === "string") return digest.add(prompt);
  const expected = "one text or one list of token ids";
  if (!Array.isArray(prompt) || prompt.length === 0) throw invalid("prompt", expected, prompt);
  if (prompt.length === 1 && typeof prompt[0] === "string") return digest.add(prompt[0]);
  for (const id of prompt) {
    if (!Number.isSafeInteger(id)) throw invalid("prompt", expected, prompt);
    digest.addTokenId(id as number);
  }
  return digest;
}

function scriptedCalls(script: Fields): ScriptedCall[] {
  const calls = optionalList(script, "tool_calls", "manx.tool_calls") ?? [];
  if (calls.length > TOOL_CALLS_MAX) {
    throw invalid("manx.tool_calls", `at most ${TOOL_CALLS_MAX} calls`, calls);
  }
  return calls.map((value, i) => {
    const where = `manx.tool_calls[${i}]`;
    const call = asObject(value, where);
    const name = optionalText(call, "name", `${where}.name`);
    if (name === undefined || name === "") throw invalid(`${where}.name`, "a name", call.name);
    const given = call.arguments ?? {};
    return { name, arguments: typeof given === "string" ? given : JSON.stringify(given) };
  });
}

/** The call that `tool_choice` forces, with arguments made from the tool's schema, unless a script gives its own. */
function forcedCalls(body: Fields, script: Fields): ScriptedCall[] {
  const tools = optionalList(body, "tools") ?? [];
  const functions = tools.map((value, i) => {
    const tool = asObject(value, `tools[${i}]`);
    return asObject(tool.function ?? tool, `tools[${i}].function`);
  });
  const choice = body.tool_choice ?? "auto";
  if (choice === "auto" || choice === "none") return [];
  const wanted = choice === "required" ? functions[0]?.name : nameOfChoice(choice);
  const found = functions.find(({ name }) => name === wanted);
  if (found === undefined || typeof found.name !== "string") {
    const names = functions.map(({ name }) => String(name)).join(", ");
    throw invalid("tool_choice", `one of the request's tools (${names || "it has none"})`, wanted);
  }
  if (script.tool_calls !== undefined) return [];
  return [{ name: found.name, arguments: jsonOfSchema(found.parameters) }];
}

function nameOfChoice(choice: unknown): unknown {
  if (typeof choice === "string") throw invalid("tool_choice", "auto, none or required", choice);
  const object = asObject(choice, "tool_choice");
  return asObject(object.function ?? object, "tool_choice.function").name;
}

function formattedJson(body: Fields): string | undefined {
  const format = optionalObject(body, "response_format");
  if (format === undefined || format.type === "text") return undefined;
  if (format.type === "json_object") return "{}";
  if (format.type !== "json_schema") {
    throw invalid("response_format.type", "text, json_object or json_schema", format.type);
  }
  const { schema } = asObject(format.json_schema, "response_format.json_schema");
  return jsonOfSchema(schema);
}
