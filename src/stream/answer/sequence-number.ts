/**
 * Events of the responses API are numbered, and there are clients that pass over one that is not. What is added to a stream
 * of another's making, an error at its early end, has to go on from the last number that was said.
 */
const NAME = '"sequence_number":';

/**
 * @param said the last bytes that went to the caller. Within a JSON string the name's quotes would be escaped.
 * @returns the number that comes next; undefined if these bytes have none.
 */
export function nextSequenceNumber(said: Uint8Array): number | undefined {
  const text = new TextDecoder().decode(said);
  const at = text.lastIndexOf(NAME);
  if (at < 0) return undefined;
  const digits = /^\s*(\d{1,15})/.exec(text.slice(at + NAME.length))?.[1];
  return digits === undefined ? undefined : Number(digits) + 1;
}
