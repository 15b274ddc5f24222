/**
 * An MCP server for `ToolRegistryCache`: its tools, all pages, and its word that they have changed. Connecting is part of the
 * listing, so that a server that cannot be reached is one that does not list.
 */
import type { JsonSchema, ToolServer } from "../../runtime/index.ts";
import { unlessAborted } from "../loop/unless-aborted.ts";
import type { McpClient } from "./mcp-client.ts";
import { listAll } from "./mcp-tools.ts";

type Lister = Pick<McpClient, "listTools">;

export interface McpServerOptions extends Omit<ToolServer, "list" | "onChanged"> {
  /**
   * Has the callback called at each `notifications/tools/list_changed`, as with the SDK's
   * `client.setNotificationHandler(ToolListChangedNotificationSchema, changed)`. @returns a way to stop that.
   */
  readonly onChanged?: (client: Lister, changed: () => void) => () => void;
  /** Given each client that is used no more, since its listing has failed: to close it, if nothing else uses it. */
  readonly disconnect?: (client: Lister) => unknown;
}

/** @param connect a client that is connected; called again after a listing has failed, since a connection that broke stays broken. */
export function mcpServer(
  connect: (signal: AbortSignal) => Lister | Promise<Lister>,
  { onChanged, disconnect, ...server }: McpServerOptions = {},
): ToolServer {
  /** The one in use, or on its way: two listings at a time never make two. */
  let connection: Promise<Lister> | undefined;
  let client: Lister | undefined;
  let changed: (() => void) | undefined;
  let stop: (() => void) | undefined;
  const listen = (): void => {
    stop?.();
    stop = client === undefined || changed === undefined ? undefined : onChanged?.(client, changed);
  };
  const use = (made: Lister): void => {
    if (client === made) return;
    client = made;
    listen();
  };
  const drop = (broken: Promise<Lister>): void => {
    if (connection !== broken) return;
    connection = undefined;
    client = undefined;
    listen();
    // One that was on its way may still come.
    broken.then((made) => disconnect?.(made)).catch(ignore);
  };
  return {
    ...server,
    list: async ({ signal }) => {
      connection ??= (async () => connect(signal))();
      const own = connection;
      try {
        const made = await unlessAborted(own, signal);
        if (connection === own) use(made);
        const tools = await listAll(made, signal);
        return tools.map((one) => ({ ...one, inputSchema: one.inputSchema as JsonSchema }));
      } catch (error) {
        drop(own);
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

function ignore(): void {}
