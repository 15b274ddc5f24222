/** The twin names what is wrong by its own fields, `tokensMax`; whoever typed `--tokens` is told of that. */
import { isManxError, ManxError } from "../core/index.ts";

/**
 * @param flagOf by the engine's field.
 * @returns the error at the flag that set the field; as it is, if it names none of these.
 */
export function atFlag(thrown: unknown, flagOf: Readonly<Record<string, string>>): unknown {
  if (!isManxError(thrown)) return thrown;
  const { code, what, where = "", expected, got, hint, details } = thrown;
  const flag = Object.hasOwn(flagOf, where) ? flagOf[where] : undefined;
  if (flag === undefined) return thrown;
  const named = `${where}: `;
  return new ManxError(code, {
    what,
    where: flag,
    ...(expected !== undefined && {
      expected: expected.startsWith(named) ? expected.slice(named.length) : expected,
    }),
    ...(got !== undefined && { got }),
    hint,
    cause: thrown,
    ...(details !== undefined && { details }),
  });
}
