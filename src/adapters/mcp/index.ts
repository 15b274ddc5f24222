/** `manx/mcp`: the tools of an MCP server. */
export type { McpClient, McpRequestOptions, McpTool } from "./mcp-client.ts";
export { type McpToolsOptions, mcpTools } from "./mcp-tools.ts";
