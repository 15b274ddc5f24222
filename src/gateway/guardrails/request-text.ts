/** The text of a request, for its checks, from its bytes. */
import { parseJsonObject } from "../../http/index.ts";
import { type RequestScope, requestText } from "../../policy/index.ts";

/**
 * @param body of a request, as it came.
 * @throws MANX_REQUEST_INVALID for what is not JSON: of it nobody could say what an upstream makes.
 */
export function readRequestText(body: Buffer, scope: RequestScope): string {
  return requestText(parseJsonObject(body), scope);
}
