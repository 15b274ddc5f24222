/**
 * The words of each wire, for those who translate between them: reasons, token counts, errors. Apart from index.ts, since
 * they are no part of what the package offers.
 */
export {
  chatReason,
  finishReason,
  messagesReason,
  responsesEnding,
} from "./finish-reason.ts";
export { isObject, type JsonObject, textOf } from "./json-object.ts";
export {
  mergeChatUsage,
  mergeMessagesUsage,
  mergeResponsesUsage,
  USAGE_UNKNOWN,
} from "./token-usage.ts";
export { chatUsage, convertUsage, messagesUsage, responsesUsage } from "./usage-writer.ts";
export { messagesErrorType, readWireError } from "./wire-error.ts";
