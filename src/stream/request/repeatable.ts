/** Whether a call may be computed twice: nothing is stored for later, runs on by itself, or acts at the provider's. */
import { bytesText } from "../bytes-text.ts";
import type { RequestPeek, Span } from "./request-peek.ts";

/**
 * @param peek of `body`.
 * @param storesByDefault OpenAI's responses API stores unless it is told not to.
 */
export function isRepeatable(
  body: Uint8Array,
  peek: RequestPeek,
  storesByDefault: boolean,
): boolean {
  if (peek.store ?? storesByDefault) return false;
  return !peek.isBackground && !peek.hasConversation && !hasServerTools(body, peek.toolsSpan);
}

/** Tools that the provider itself runs, such as a web search: to repeat the call repeats what they do. */
function hasServerTools(body: Uint8Array, span: Span | undefined): boolean {
  if (span === undefined) return false;
  try {
    const tools: unknown = JSON.parse(bytesText(body, span.start, span.end));
    return Array.isArray(tools) && tools.some(isServerTool);
  } catch {
    // What cannot be read might be anything.
    return true;
  }
}

function isServerTool(tool: unknown): boolean {
  if (typeof tool !== "object" || tool === null) return true;
  const { type } = tool as { type?: unknown };
  return type !== undefined && type !== "function" && type !== "custom";
}
