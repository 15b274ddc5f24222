/** What a URL says of a model call: whose API it is, how its streams are read, and where the path of the API begins. */
import type { ErrorDialect } from "../../core/index.ts";
import type { DecodableFormat } from "../../stream/index.ts";

export interface ModelWire {
  /** As the GenAI conventions call it. */
  readonly operation: "chat" | "text_completion" | "embeddings" | "count_tokens";
  /** How its event streams are read; null if no decoder knows them. */
  readonly format: DecodableFormat | null;
  readonly dialect: ErrorDialect;
  /** As the GenAI conventions name the API. */
  readonly provider: string;
  readonly storesByDefault: boolean;
  /** Paths of other APIs end alike, whose calls act: it is this one only if its body names a model. */
  readonly needsModel?: true;
}

export interface FoundWire {
  readonly wire: ModelWire;
  /** The API's own part of the path, after what an SDK calls its base URL. */
  readonly rest: string;
  /** Where the URL names them instead of the body. */
  readonly model: string | undefined;
  readonly isStream: boolean | undefined;
}

const OPENAI = { dialect: "openai", provider: "openai", storesByDefault: false } as const;
const ANTHROPIC = { dialect: "anthropic", provider: "anthropic", storesByDefault: false } as const;

const WIRES: readonly { readonly path: RegExp; readonly wire: ModelWire }[] = [
  {
    path: /\/chat\/completions$/,
    wire: { ...OPENAI, operation: "chat", format: "openai-chat" },
  },
  {
    path: /\/responses$/,
    wire: {
      ...OPENAI,
      ...{ operation: "chat", format: "openai-responses", storesByDefault: true, needsModel: true },
    },
  },
  {
    // The official client has /v1 in its paths, others have it in their base URL. OpenAI's threads have messages as well.
    path: /(?:\/v1)?\/messages$/,
    wire: { ...ANTHROPIC, operation: "chat", format: "anthropic-messages", needsModel: true },
  },
  {
    path: /(?:\/v1)?\/messages\/count_tokens$/,
    wire: { ...ANTHROPIC, operation: "count_tokens", format: null },
  },
  {
    // Its chunks are those of chats with a `text` in place of a delta.
    path: /\/completions$/,
    wire: { ...OPENAI, operation: "text_completion", format: "openai-chat" },
  },
  { path: /\/embeddings$/, wire: { ...OPENAI, operation: "embeddings", format: null } },
  {
    path: /\/models\/[^/:]+:(?:streamGenerateContent|generateContent)$/,
    wire: {
      operation: "chat",
      format: "gemini",
      dialect: "openai",
      provider: "gcp.gemini",
      storesByDefault: false,
    },
  },
];

const GEMINI_MODEL = /\/models\/([^/:]+):(stream)?/;

/** @returns undefined for what is no call of a model. */
export function findWire(pathname: string): FoundWire | undefined {
  for (const { path, wire } of WIRES) {
    const found = path.exec(pathname);
    if (found === null) continue;
    const named = wire.format === "gemini" ? GEMINI_MODEL.exec(pathname) : null;
    return {
      wire,
      rest: found[0],
      model: named?.[1],
      isStream: named === null ? undefined : named[2] !== undefined,
    };
  }
  return undefined;
}

/** @returns the path as it names another model, where the path names one. */
export function renamedPath(rest: string, model: string): string {
  return rest.replace(
    /(\/models\/)[^/:]+/,
    (_, models: string) => models + encodeURIComponent(model),
  );
}
