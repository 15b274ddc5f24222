/** `manx/openai`: an agent over the official client, or over anything of its shape. */
export {
  type AgentOptions,
  type AgentResult,
  AgentRun,
} from "../loop/agent-run.ts";
/** The piece alone, for a loop of one's own. */
export { feed } from "../loop/feed.ts";
export { type ChatClient, type ChatParams, runChat } from "./run-chat.ts";
export { type ResponsesClient, type ResponsesParams, runResponses } from "./run-responses.ts";
