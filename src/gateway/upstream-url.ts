/** The one place that upstreams come from: the configuration. Nothing in a request can name another. */
import { ManxError } from "../core/index.ts";

export interface UpstreamUrl {
  readonly origin: URL;
  /** Before each forwarded path, without a slash at its end; "" in most cases. */
  readonly prefix: string;
}

/**
 * @param text such as `https://api.openai.com` or `http://127.0.0.1:8000/v1`; a `/v1` at the end is taken as part of the
 *   paths, since client libraries write their base URL with it.
 * @throws MANX_URL
 */
export function parseUpstream(text: string, where = "--upstream"): UpstreamUrl {
  const refuse = (expected: string, got: string): ManxError =>
    new ManxError("MANX_URL", { where, expected, got });
  if (!URL.canParse(text)) throw refuse("an absolute URL", JSON.stringify(text));
  const url = new URL(text);
  if (url.protocol !== "http:" && url.protocol !== "https:") {
    throw refuse("http: or https:", url.protocol);
  }
  // The value is not repeated: it holds a secret.
  if (url.username !== "" || url.password !== "") {
    throw refuse("no user or password; clients send their key in a header", "a URL with one");
  }
  if (url.search !== "" || url.hash !== "") {
    throw refuse("neither query nor fragment", `${url.search}${url.hash}`);
  }
  const prefix = url.pathname.replace(/\/+$/, "").replace(/\/v1$/, "");
  return { origin: new URL(url.origin), prefix };
}
