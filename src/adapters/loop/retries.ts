/** Whether a client's requests go through Manx's own fetch, which retries: a second layer of retries would multiply them. */
import { MANX_FETCH } from "../../runtime/model-fetch/model-fetch.ts";

/** @param client of an SDK; where it keeps its fetch is the same for both. */
export function retriesFor(client: object, asked: number | undefined): { maxRetries?: number } {
  if (asked !== undefined) return { maxRetries: asked };
  const { fetch } = client as { readonly fetch?: unknown };
  const isManx = typeof fetch === "function" && MANX_FETCH in fetch;
  return isManx ? { maxRetries: 0 } : {};
}
