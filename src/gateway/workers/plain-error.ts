/** Errors that cross to another process: as `toJSON` has them, and back. */
import { ERROR_TABLE, type ErrorCode, ManxError } from "../../core/index.ts";

/** @param value what `ManxError.toJSON` made; anything else becomes an internal error. */
export function errorFrom(value: unknown): ManxError {
  const plain = (typeof value === "object" && value !== null ? value : {}) as Record<
    string,
    unknown
  >;
  const text = (name: string): Record<string, string> =>
    typeof plain[name] === "string" ? { [name]: plain[name] } : {};
  const isKnown = typeof plain.code === "string" && Object.hasOwn(ERROR_TABLE, plain.code);
  return new ManxError(isKnown ? (plain.code as ErrorCode) : "MANX_INTERNAL", {
    ...text("what"),
    ...text("where"),
    ...text("excerpt"),
    ...text("expected"),
    ...text("got"),
    ...text("hint"),
  });
}
