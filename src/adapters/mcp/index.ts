/** `manx/mcp`: the tools of an MCP server, to be run, or listed in a registry of many servers. */
export type { McpClient, McpRequestOptions, McpTool } from "./mcp-client.ts";
export { type McpServerOptions, mcpServer } from "./mcp-server.ts";
export { type McpToolsOptions, mcpTools } from "./mcp-tools.ts";
