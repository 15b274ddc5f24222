/**
 * An MCP server for `ToolRegistryCache`: its tools, all pages, and its word that they have changed. Connecting is part of the
 * listing, so that a server that cannot be reached is one that does not list.
 */
import type { JsonSchema, ToolServer } from "../../runtime/index.ts";
import type { McpClient } from "./mcp-client.ts";
import { listAll } from "./mcp-tools.ts";

type Lister = Pick<McpClient, "listTools">;

export interface McpServerOptions extends Omit<ToolServer, "list" | "onChanged"> {
  /**
   * Has the callback called at each `notifications/tools/list_changed`, as with the SDK's
   * `client.setNotificationHandler(ToolListChangedNotificationSchema, changed)`. @returns a way to stop that.
   */
  readonly onChanged?: (client: Lister, changed: () => void) => () => void;
}

/** @param connect a client that is connected; called again after a listing has failed, since a connection that broke stays broken. */
export function mcpServer(
  connect: (signal: AbortSignal) => Lister | Promise<Lister>,
  { onChanged, ...server }: McpServerOptions = {},
): ToolServer {
  let client: Lister | undefined;
  let changed: (() => void) | undefined;
  let stop: (() => void) | undefined;
  const listen = (): void => {
    stop?.();
    stop = client === undefined || changed === undefined ? undefined : onChanged?.(client, changed);
  };
  return {
    ...server,
    list: async ({ signal }) => {
      if (client === undefined) {
        client = await connect(signal);
        listen();
      }
      try {
        const tools = await listAll(client, signal);
        return tools.map((one) => ({ ...one, inputSchema: one.inputSchema as JsonSchema }));
      } catch (error) {
        client = undefined;
        throw error;
      }
    },
    ...(onChanged !== undefined && {
      onChanged: (callBack) => {
        changed = callBack;
        listen();
        return () => {
          changed = undefined;
          stop?.();
        };
      },
    }),
  };
}
