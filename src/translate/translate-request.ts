/**
 * A request from the caller's format into the upstream's. What the other API has no equal for is refused, if the answer
 * would not be the one that was asked for, or dropped with a note. The table is docs/how-to/translation.md.
 */
import { lookUp } from "../core/index.ts";
import type { StreamFormat } from "../stream/index.ts";
import type { CanonicalRequest } from "./canonical-request.ts";
import type { HostedTools } from "./hosted-tools.ts";
import type { MessagesTraits } from "./messages-traits.ts";
import { Notes, type TranslationNote } from "./notes.ts";
import { readChatRequest } from "./read-chat-request.ts";
import { readMessagesRequest } from "./read-messages-request.ts";
import { readResponsesRequest } from "./read-responses-request.ts";
import { type ChatTarget, writeChatRequest } from "./write-chat-request.ts";
import { writeMessagesRequest } from "./write-messages-request.ts";
import { writeResponsesRequest } from "./write-responses-request.ts";

export interface RequestOptions {
  /** The upstream's name for the model. Default: the caller's. */
  readonly model?: string;
  /** For Anthropic, which needs a limit, if the caller sets none. Default 4,096. */
  readonly tokensMaxDefault?: number;
  /** For Anthropic: what differs from what is known of the model by its name. */
  readonly traits?: Partial<MessagesTraits>;
  /** What to do with tools that only the caller's provider knows. Default `refuse`. */
  readonly hostedTools?: HostedTools;
  /** For chat completions. Default `max_completion_tokens`. */
  readonly tokensField?: ChatTarget["tokensField"];
}

export interface TranslatedRequest {
  /** A plain object in the upstream's format; equal requests give equal bytes under `JSON.stringify`. */
  readonly body: Record<string, unknown>;
  readonly notes: readonly TranslationNote[];
  /** What the caller wants of the answer; `StreamTranslator` and `translateResponse` take it as it is. */
  readonly wants: {
    /** As the caller named it. */
    readonly model: string;
    readonly isStream: boolean;
    readonly includeUsage: boolean;
  };
}

const TOKENS_MAX_DEFAULT = 4_096;

const READERS: Readonly<
  Record<StreamFormat, (body: unknown, notes: Notes, hostedTools: HostedTools) => CanonicalRequest>
> = {
  "openai-chat": readChatRequest,
  "openai-responses": readResponsesRequest,
  "anthropic-messages": readMessagesRequest,
};

type Writer = (
  request: CanonicalRequest,
  options: RequestOptions & { readonly model: string },
  notes: Notes,
) => Record<string, unknown>;

const WRITERS: Readonly<Record<StreamFormat, Writer>> = {
  "openai-chat": (request, { model, tokensField = "max_completion_tokens" }, notes) =>
    writeChatRequest(request, { model, tokensField }, notes),
  "openai-responses": (request, { model }, notes) =>
    writeResponsesRequest(request, { model }, notes),
  "anthropic-messages": (request, options, notes) => {
    const { model, tokensMaxDefault = TOKENS_MAX_DEFAULT, traits = {} } = options;
    return writeMessagesRequest(request, { model, tokensMaxDefault, traits }, notes);
  },
};

/**
 * @param body parsed JSON, not changed.
 * @throws MANX_REQUEST_INVALID for a body that its own API would refuse, with the field.
 * @throws MANX_TRANSLATE_FIELD for what the other API has no equal for, with the field.
 */
export function translateRequest(
  body: unknown,
  from: StreamFormat,
  to: StreamFormat,
  options: RequestOptions = {},
): TranslatedRequest {
  lookUp(READERS, from, "wire format");
  lookUp(WRITERS, to, "wire format");
  const notes = new Notes();
  const request = READERS[from](body, notes, options.hostedTools ?? "refuse");
  const { model, isStream, includeUsage } = request;
  const translated = WRITERS[to](request, { ...options, model: options.model ?? model }, notes);
  return { body: translated, notes: notes.list, wants: { model, isStream, includeUsage } };
}
