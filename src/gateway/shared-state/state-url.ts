/** Where the shared state is kept, taken apart so that the password goes nowhere but into the connection. */
import { ManxError } from "../../core/index.ts";

export interface StateUrl {
  /** Host and port: what may be logged. */
  readonly place: string;
  readonly host: string;
  readonly port: number;
  readonly isTls: boolean;
  readonly username: string | undefined;
  readonly password: string | undefined;
  readonly database: number;
}

/** @param text `redis://[user:password@]host[:port][/database]`, or `rediss:` for TLS. @throws MANX_URL */
export function parseStateUrl(text: string): StateUrl {
  const url = URL.canParse(text) ? new URL(text) : undefined;
  const database = Number(url?.pathname.slice(1) || "0");
  const isKnown = url?.protocol === "redis:" || url?.protocol === "rediss:";
  if (url === undefined || !isKnown || url.hostname === "" || !Number.isSafeInteger(database)) {
    throw new ManxError("MANX_URL", {
      what: "not a usable URL for the shared state",
      where: "gateway.state",
      expected: "redis://host:6379 or rediss://user:password@host:6379/0",
      // Without what may be a password.
      got: url === undefined ? "no URL" : `${url.protocol}//${url.host}${url.pathname}`,
    });
  }
  const port = url.port === "" ? 6_379 : Number(url.port);
  const host = url.hostname.replace(/^\[(.*)\]$/, "$1");
  return {
    place: `${url.hostname}:${port}`,
    host,
    port,
    isTls: url.protocol === "rediss:",
    username: url.username === "" ? undefined : decodeURIComponent(url.username),
    password: url.password === "" ? undefined : decodeURIComponent(url.password),
    database,
  };
}
