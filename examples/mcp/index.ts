/**
 * Tools of an MCP server in an agent of Manx: their deadlines reach the server, and its hints count because it is trusted.
 *
 *     npx manx engine --port 8000        (or set OPENAI_BASE_URL, OPENAI_API_KEY and MODEL)
 *     npx tsx examples/mcp/index.ts
 */
import { Client } from "@modelcontextprotocol/sdk/client/index.js";
import { InMemoryTransport } from "@modelcontextprotocol/sdk/inMemory.js";
import { McpServer } from "@modelcontextprotocol/sdk/server/mcp.js";
import { mcpTools } from "manx/mcp";
import { runChat } from "manx/openai";
import { Turn } from "manx/runtime";
import OpenAI from "openai";
import { z } from "zod";

// A server in this very process; with StdioClientTransport it would be one of its own.
const server = new McpServer({ name: "cats", version: "1.0.0" });
server.registerTool(
  "tail_of",
  { inputSchema: { cat: z.string() }, annotations: { readOnlyHint: true } },
  ({ cat }) => ({ content: [{ type: "text", text: `A ${cat} has no tail.` }] }),
);
const mcp = new Client({ name: "example", version: "1.0.0" });
const [near, far] = InMemoryTransport.createLinkedPair();
await Promise.all([server.connect(far), mcp.connect(near)]);

const client = new OpenAI({
  baseURL: process.env.OPENAI_BASE_URL ?? "http://127.0.0.1:8000/v1",
  apiKey: process.env.OPENAI_API_KEY ?? "none",
  // What the twin is to call, since it has no mind of its own; nobody else reads it.
  defaultHeaders: {
    "x-manx-script": JSON.stringify({
      output_tokens: 12,
      tool_calls: [{ name: "tail_of", arguments: { cat: "Manx" } }],
      calls_once: true,
    }),
  },
});

const tools = await mcpTools(mcp, { trust: true, deadline: "5s" });
const turn = new Turn({ tools, deadline: "30s" });
const model = process.env.MODEL ?? "llama-3.1-8b";
const messages = [{ role: "user" as const, content: "What tail has a Manx?" }];
const { ended, results } = await runChat(client, { model, messages }, { turn }).result();
await turn.close();
await mcp.close();
for (const { name, status, text } of results) console.log(`${name}: ${status}, ${text}`);
console.log(ended);
