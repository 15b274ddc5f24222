/** Opens a server's port, on loopback unless told otherwise, with an error that a person can act on if it cannot. */
import type { Server } from "node:http";
import type { AddressInfo } from "node:net";
import { ManxError } from "../core/index.ts";

export interface ListenOptions {
  /** Default 127.0.0.1: nobody outside this machine gets in unasked. */
  readonly host?: string;
  /** 0 takes any free port. */
  readonly port: number;
  /** Even in one of several worker processes, which otherwise share what any of them listens on. Default false. */
  readonly isAlone?: boolean;
}

/**
 * @returns the base URL, such as `http://127.0.0.1:8000`.
 * @throws MANX_PORT_IN_USE, MANX_ADDRESS
 */
export function listen(server: Server, options: ListenOptions): Promise<string> {
  const host = options.host ?? "127.0.0.1";
  return new Promise((resolve, reject) => {
    const onError = (cause: NodeJS.ErrnoException): void => {
      const where = `${host}:${options.port}`;
      if (cause.code === "EADDRINUSE") {
        reject(new ManxError("MANX_PORT_IN_USE", { where, cause }));
        return;
      }
      reject(new ManxError("MANX_ADDRESS", { where, got: cause.code ?? cause.message, cause }));
    };
    server.once("error", onError);
    server.listen({ host, port: options.port, exclusive: options.isAlone ?? false }, () => {
      server.off("error", onError);
      const { address, port, family } = server.address() as AddressInfo;
      resolve(`http://${family === "IPv6" ? `[${address}]` : address}:${port}`);
    });
  });
}

/** Stops accepting, cuts what is idle, and resolves once open requests have ended; `cutOpen` does not wait for them. */
export function close(server: Server, { cutOpen = false } = {}): Promise<void> {
  return new Promise((resolve) => {
    server.close(() => resolve());
    if (cutOpen) server.closeAllConnections();
    else server.closeIdleConnections();
  });
}
