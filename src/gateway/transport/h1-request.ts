/** The head of an HTTP/1.1 request as it goes on the wire. */
import type { UpstreamRequest } from "./channel.ts";

const PATH = /^\/[\x21-\xff]*$/;
/** A token, and none of those by which a peer tells where a request ends or whose it is: these are set here alone. */
const NAME =
  /^(?!(?:host|connection|content-length|transfer-encoding|upgrade|expect)$)[!#$%&'*+\-.^_`|~\dA-Z]+$/i;
const UNFIT = /[^\t\x20-\x7e\x80-\xff]/;

/**
 * Latin-1, with the empty line.
 * @param host of the origin, with its port where it has one.
 * @throws TypeError for what would end a line or a request early; values, which may be secrets, are not in it.
 */
export function requestHead(request: UpstreamRequest, host: string): string {
  const { method, path, headers, body } = request;
  if (!PATH.test(path)) throw new TypeError("the path cannot be sent");
  let head = `${method} ${path} HTTP/1.1\r\nhost: ${host}\r\nconnection: keep-alive\r\n`;
  for (let i = 0; i < headers.length; i += 2) {
    const name = headers[i]!;
    const value = headers[i + 1]!;
    if (!NAME.test(name) || UNFIT.test(value)) {
      throw new TypeError(`the header ${JSON.stringify(name)} cannot be sent`);
    }
    head += `${name}: ${value}\r\n`;
  }
  if (body !== null || method === "POST") head += `content-length: ${body?.length ?? 0}\r\n`;
  return `${head}\r\n`;
}
