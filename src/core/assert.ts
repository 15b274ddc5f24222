/** Assertions that stay on in production: a broken invariant must stop the step that broke it. */
import { ManxError } from "./manx-error.ts";

export function assert(condition: unknown, what: string): asserts condition {
  if (!condition) throw new ManxError("MANX_INTERNAL", { what: `broken invariant: ${what}` });
}
