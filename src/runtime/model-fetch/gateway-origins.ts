/** Which origins are Manx gateways: they make the retries and take a deadline along. Told, or seen by what they answer. */
import { ManxError } from "../../core/index.ts";

/** On each answer of a gateway. */
const ANSWERED_BY = "x-manx-attempts";
/** Nobody calls more. */
const SEEN_MAX = 64;

export class GatewayOrigins {
  readonly #origins: Set<string>;
  readonly #isAll: boolean;

  /** @throws MANX_URL */
  constructor(listed: readonly string[], isAll: boolean) {
    this.#origins = new Set(listed.map((url) => parsedUrl(url, "gateways").origin));
    this.#isAll = isAll;
  }

  has(origin: string): boolean {
    return this.#isAll || this.#origins.has(origin);
  }

  see(origin: string, headers: Headers): void {
    if (headers.has(ANSWERED_BY) && this.#origins.size < SEEN_MAX) this.#origins.add(origin);
  }
}

/** @throws MANX_URL, which does not show it: a URL may hold a key. */
export function parsedUrl(url: string, where: string): URL {
  const parsed = URL.canParse(url) ? new URL(url) : undefined;
  if (parsed?.protocol === "https:" || parsed?.protocol === "http:") return parsed;
  throw new ManxError("MANX_URL", { where, expected: "a URL with http: or https:" });
}
