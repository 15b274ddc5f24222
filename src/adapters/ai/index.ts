/** `manx/ai`: for the AI SDK 6; a middleware for its model, and the turn's tools as its own. */
export { type ManxMiddleware, manxMiddleware } from "./manx-middleware.ts";
export { type AiTool, manxTools } from "./manx-tools.ts";
