/** The wire form of one request: path, headers and JSON body, for the APIs that load can be sent to. */
import { lookUp } from "../core/index.ts";
import type { Job } from "./target.ts";

export type ApiName = "openai" | "anthropic";

/** Carries nonce and number of each request, so that a server's own records can be laid beside a run. */
export const REQUEST_ID_HEADER = "x-request-id";

export interface BodyOptions {
  readonly model: string;
  readonly stream: boolean;
  /** Asks for exactly the output tokens: `ignore_eos` and `min_tokens`, which vLLM and SGLang know and hosted APIs refuse. */
  readonly exactOutput: boolean;
}

export interface LoadApi {
  readonly path: string;
  /** Name that src/stream has for its response stream. */
  readonly format: "openai-chat" | "anthropic-messages";
  headers(key: string | undefined): Readonly<Record<string, string>>;
  body(job: Job, prompt: string, options: BodyOptions): string;
}

const APIS: Readonly<Record<ApiName, LoadApi>> = {
  openai: {
    path: "/v1/chat/completions",
    format: "openai-chat",
    headers: (key) => (key === undefined ? {} : { authorization: `Bearer ${key}` }),
    body: (job, prompt, { model, stream, exactOutput }) => {
      const tokens = job.request.outputTokens;
      const streaming = stream ? `,"stream":true,"stream_options":{"include_usage":true}` : "";
      const exact = exactOutput ? `,"ignore_eos":true,"min_tokens":${tokens}` : "";
      const { priority = 0, tenant } = job.request;
      // vLLM's field, refused by it and by hosted APIs where it means nothing: sent only if the trace has a class.
      const urgency = priority === 0 ? "" : `,"priority":${priority}`;
      const user = tenant === undefined ? "" : `,"user":${JSON.stringify(tenant)}`;
      return `{"model":${JSON.stringify(model)},"max_tokens":${tokens}${exact}${urgency}${user}${streaming},${messages(prompt)}}`;
    },
  },
  anthropic: {
    path: "/v1/messages",
    format: "anthropic-messages",
    headers: (key) => ({
      "anthropic-version": "2023-06-01",
      ...(key !== undefined && { "x-api-key": key }),
    }),
    body: (job, prompt, { model, stream }) => {
      const { outputTokens, tenant } = job.request;
      const user = tenant === undefined ? "" : `,"metadata":{"user_id":${JSON.stringify(tenant)}}`;
      return `{"model":${JSON.stringify(model)},"max_tokens":${outputTokens},"stream":${stream}${user},${messages(prompt)}}`;
    },
  },
};

/** @throws MANX_NAME_UNKNOWN */
export function loadApi(name: string): LoadApi {
  return lookUp(APIS, name, "API");
}

/** Prompts are letters, digits, hyphens and spaces, so they need no escape; JSON.stringify would look at each character. */
function messages(prompt: string): string {
  return `"messages":[{"role":"user","content":"${prompt}"}]`;
}
