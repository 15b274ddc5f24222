/**
 * A request that asks a model to go on with a text: the same request with that text as the assistant's last message, and
 * with fewer tokens left.
 *
 * Anthropic refuses a last message that ends with white space, and any tokenizer parts words differently after it; so the
 * white space at the end stays out, and what of it the model says again is left out of its answer (`ContinuedSource`).
 */
import { ManxError } from "../../core/index.ts";
import type { StreamFormat } from "../../stream/index.ts";
import type { UpstreamKind } from "../config/index.ts";

export interface Prefill {
  /** Without white space at its end. */
  readonly text: string;
  /** That white space. */
  readonly tail: string;
  readonly tokens: number;
}

type Json = Readonly<Record<string, unknown>>;

export function prefillOf(text: string, tokens: number): Prefill {
  const trimmed = text.trimEnd();
  return { text: trimmed, tail: text.slice(trimmed.length), tokens };
}

/**
 * @param body of a caller's request: chat completions or messages.
 * @returns whether an answer to it may be computed in two parts. Several answers, a form that is forced (a schema begins
 *   anew with each part), a forced call, and thinking, which wants to come first, stand against it.
 */
export function canBePrefilled(body: unknown, tokens: number): boolean {
  if (typeof body !== "object" || body === null) return false;
  const request = body as Json;
  const { n, response_format: form, output_config: config, output_format, thinking } = request;
  const isForced = isNamedTool(request.tool_choice);
  const hasForm =
    (form !== undefined && form !== null && (form as Json).type !== "text") ||
    (config as Json | undefined)?.format !== undefined ||
    output_format !== undefined;
  const thinks = thinking !== undefined && (thinking as Json | null)?.type !== "disabled";
  if ((typeof n === "number" && n > 1) || isForced || hasForm || thinks) return false;
  return Array.isArray(request.messages) && (tokensMaxOf(request) ?? tokens + 1) > tokens;
}

/** `required` and `any`, or one by its name. */
function isNamedTool(choice: unknown): boolean {
  const kind = typeof choice === "object" && choice !== null ? (choice as Json).type : choice;
  return kind !== undefined && kind !== null && kind !== "auto" && kind !== "none";
}

function tokensMaxOf({
  max_completion_tokens: newer,
  max_tokens: older,
}: Json): number | undefined {
  const most = newer ?? older;
  return typeof most === "number" ? most : undefined;
}

/** Servers whose chat endpoint has to be told not to open a new message after the last one. */
const TOLD: ReadonlySet<UpstreamKind> = new Set(["vllm", "sglang"]);

/**
 * @param body as the upstream would get it: chat completions or messages.
 * @throws MANX_REQUEST_INVALID if it has no messages.
 */
export function prefillBody(
  body: Buffer,
  prefill: Prefill,
  { kind, format }: { readonly kind: UpstreamKind; readonly format: StreamFormat },
): Buffer {
  const request = JSON.parse(body.toString("utf8")) as Json;
  if (!Array.isArray(request.messages)) {
    throw new ManxError("MANX_REQUEST_INVALID", { where: "messages", expected: "a list" });
  }
  const messages = withText(request.messages as Json[], prefill.text);
  const isTold = format === "openai-chat" && TOLD.has(kind);
  const told = isTold ? { add_generation_prompt: false, continue_final_message: true } : {};
  const left: Record<string, number> = {};
  for (const name of ["max_tokens", "max_completion_tokens"]) {
    const most = request[name];
    if (typeof most === "number") left[name] = Math.max(1, most - prefill.tokens);
  }
  return Buffer.from(JSON.stringify({ ...request, messages, ...left, ...told }));
}

/** A caller may have begun the answer itself. */
function withText(messages: readonly Json[], text: string): Json[] {
  const last = messages.at(-1);
  if (last?.role !== "assistant") return [...messages, { role: "assistant", content: text }];
  const { content } = last;
  const joined = Array.isArray(content)
    ? [...content, { type: "text", text }]
    : `${typeof content === "string" ? content : ""}${text}`;
  return [...messages.slice(0, -1), { ...last, content: joined }];
}
