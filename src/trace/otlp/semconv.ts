/**
 * The names of OpenTelemetry's GenAI conventions, which are still being renamed. Inside Manx a span carries the latest ones
 * (semantic-conventions-genai 0.1.0); this table turns them into older generations and back. Attributes that are in no
 * table are passed on as they are.
 */

/** `both` writes the latest names and those of 1.36 beside each other, for a change of dashboards without a gap. */
export type Semconv = "1.36" | "1.41" | "latest" | "both";
export const SEMCONVS: readonly Semconv[] = ["1.36", "1.41", "latest", "both"];

interface Rename {
  readonly latest: string;
  readonly "1.41": string;
  readonly "1.36": string;
}

const RENAMES: readonly Rename[] = [
  {
    latest: "gen_ai.provider.name",
    "1.41": "gen_ai.provider.name",
    "1.36": "gen_ai.system",
  },
  {
    latest: "gen_ai.usage.cache_write.input_tokens",
    "1.41": "gen_ai.usage.cache_creation.input_tokens",
    "1.36": "gen_ai.usage.cache_creation.input_tokens",
  },
  {
    latest: "gen_ai.retrieval.top_k",
    "1.41": "gen_ai.request.top_k",
    "1.36": "gen_ai.request.top_k",
  },
];

/** Other spellings that real instrumentations send, to the latest name. */
const DIALECTS: Readonly<Record<string, string>> = {
  "gen_ai.usage.prompt_tokens": "gen_ai.usage.input_tokens",
  "gen_ai.usage.completion_tokens": "gen_ai.usage.output_tokens",
  "llm.token_count.prompt": "gen_ai.usage.input_tokens",
  "llm.token_count.completion": "gen_ai.usage.output_tokens",
  "ai.usage.inputTokens": "gen_ai.usage.input_tokens",
  "ai.usage.promptTokens": "gen_ai.usage.input_tokens",
  "ai.usage.outputTokens": "gen_ai.usage.output_tokens",
  "ai.usage.completionTokens": "gen_ai.usage.output_tokens",
  "gen_ai.usage.cache_read_input_tokens": "gen_ai.usage.cache_read.input_tokens",
  "llm.token_count.prompt_details.cache_read": "gen_ai.usage.cache_read.input_tokens",
  "ai.usage.cachedInputTokens": "gen_ai.usage.cache_read.input_tokens",
  "gen_ai.usage.cache_creation_input_tokens": "gen_ai.usage.cache_write.input_tokens",
  "llm.token_count.prompt_details.cache_write": "gen_ai.usage.cache_write.input_tokens",
  "gen_ai.usage.reasoning_tokens": "gen_ai.usage.reasoning.output_tokens",
  "ai.usage.reasoningTokens": "gen_ai.usage.reasoning.output_tokens",
  "llm.model_name": "gen_ai.request.model",
  "ai.model.id": "gen_ai.request.model",
  "llm.provider": "gen_ai.provider.name",
  "llm.system": "gen_ai.provider.name",
  "tool.name": "gen_ai.tool.name",
  "ai.toolCall.name": "gen_ai.tool.name",
  "tool_call.id": "gen_ai.tool.call.id",
  "ai.toolCall.id": "gen_ai.tool.call.id",
};

const TO_OLD = new Map(RENAMES.map((rename) => [rename.latest, rename]));
const TO_LATEST = new Map([
  ...Object.entries(DIALECTS),
  ...RENAMES.flatMap((rename) => [
    [rename["1.36"], rename.latest] as const,
    [rename["1.41"], rename.latest] as const,
  ]),
]);
/** On a span that retrieves nothing it is how many tokens a model samples from, an attribute of its own. */
const TOP_K = "gen_ai.request.top_k";

/** The names under which a latest one is written. */
export function writtenNames(latest: string, semconv: Semconv): readonly string[] {
  const rename = TO_OLD.get(latest);
  if (rename === undefined || semconv === "latest") return [latest];
  return semconv === "both" ? [...new Set([latest, rename["1.36"]])] : [rename[semconv]];
}

/** The latest name of an attribute as it was received. */
export function latestName(name: string, isRetrieval: boolean): string {
  if (name === TOP_K && !isRetrieval) return name;
  return TO_LATEST.get(name) ?? name;
}
