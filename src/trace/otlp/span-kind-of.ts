/**
 * What a foreign span is, from the attributes of the instrumentations in use: Langfuse, OpenInference, OpenTelemetry GenAI,
 * OpenLLMetry, the AI SDK; first match wins. What none of them marks is `other`, which counts as what stands above it.
 */
import type { AttributeValue, SpanKind } from "../span.ts";
import { SPAN_KINDS } from "../span.ts";

type Attributes = Readonly<Record<string, AttributeValue>>;

const LANGFUSE: Readonly<Record<string, SpanKind>> = {
  generation: "model-call",
  tool: "tool-call",
  agent: "agent",
  chain: "agent",
  retriever: "retrieval",
  embedding: "retrieval",
  guardrail: "guardrail",
};

const OPEN_INFERENCE: Readonly<Record<string, SpanKind>> = {
  CHAIN: "agent",
  AGENT: "agent",
  LLM: "model-call",
  TOOL: "tool-call",
  RETRIEVER: "retrieval",
  RERANKER: "retrieval",
  EMBEDDING: "retrieval",
  GUARDRAIL: "guardrail",
  PROMPT: "assembly",
};

const OPERATIONS: Readonly<Record<string, SpanKind>> = {
  chat: "model-call",
  text_completion: "model-call",
  generate_content: "model-call",
  llm_request: "model-call",
  execute_tool: "tool-call",
  embeddings: "retrieval",
  retrieval: "retrieval",
  vector_db_retrieve: "retrieval",
  search_memory: "retrieval",
  invoke_agent: "agent",
  invoke_workflow: "agent",
  execute_task: "agent",
  plan: "agent",
  agent_step: "step",
  apply_guardrail: "guardrail",
};

const TRACELOOP: Readonly<Record<string, SpanKind>> = {
  workflow: "agent",
  task: "agent",
  agent: "agent",
  tool: "tool-call",
};

const LLM_REQUESTS: Readonly<Record<string, SpanKind>> = {
  completion: "model-call",
  chat: "model-call",
  rerank: "retrieval",
  embedding: "retrieval",
};

/** Of the AI SDK; the part after the last dot decides. */
const AI_SDK: readonly (readonly [RegExp, SpanKind])[] = [
  [/^ai\.\w+\.do(Stream|Generate)$/, "model-call"],
  [/^ai\.toolCall$/, "tool-call"],
  [/^ai\.(embed|embedMany|rerank)(\.do\w+)?$/, "retrieval"],
  [/^ai\.(stream|generate)(Text|Object)$/, "agent"],
];

const VECTOR_STORES = /^(pinecone|chroma|qdrant|weaviate|milvus|lancedb|marqo|pgvector)$/i;
/** Names that say that a span puts a prompt together. */
const ASSEMBLY_NAME = /\b(prompt|context|memory|history)\b/i;

export function spanKindOf(name: string, attributes: Attributes): SpanKind {
  const own = word(attributes["manx.kind"]);
  if (isKind(own)) return own;
  return (
    LANGFUSE[word(attributes["langfuse.observation.type"]).toLowerCase()] ??
    OPEN_INFERENCE[word(attributes["openinference.span.kind"]).toUpperCase()] ??
    OPERATIONS[word(attributes["gen_ai.operation.name"])] ??
    TRACELOOP[word(attributes["traceloop.span.kind"])] ??
    LLM_REQUESTS[word(attributes["llm.request.type"])] ??
    aiSdkKind(attributes) ??
    hintedKind(name, attributes)
  );
}

function aiSdkKind(attributes: Attributes): SpanKind | undefined {
  // The function's own id may follow after a blank.
  const [id = ""] = word(attributes["ai.operationId"] ?? attributes["operation.name"]).split(" ");
  return AI_SDK.find(([pattern]) => pattern.test(id))?.[1];
}

function hintedKind(name: string, attributes: Attributes): SpanKind {
  if (has(attributes, "gen_ai.tool.name", "gen_ai.tool.call.id", "mcp.method.name"))
    return "tool-call";
  if (has(attributes, "gen_ai.request.model", "gen_ai.response.model", "llm.model_name"))
    return "model-call";
  if (VECTOR_STORES.test(word(attributes["db.system"] ?? attributes["db.system.name"])))
    return "retrieval";
  if (/^step \d+$/.test(name)) return "step";
  return ASSEMBLY_NAME.test(name) ? "assembly" : "other";
}

/** A request over HTTP: below a model call it is one of its attempts. */
export function isHttp(attributes: Attributes): boolean {
  return has(attributes, "http.request.method", "http.method");
}

function has(attributes: Attributes, ...names: readonly string[]): boolean {
  return names.some((name) => attributes[name] !== undefined);
}

function word(value: AttributeValue | undefined): string {
  return typeof value === "string" ? value : "";
}

function isKind(value: string): value is SpanKind {
  return (SPAN_KINDS as readonly string[]).includes(value);
}
