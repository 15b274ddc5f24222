/** Text out of a range of bytes: most of what is read off a body is a name or a flag, for which a decoder costs more than it does. */
const SHORT = 32;
const decoder = new TextDecoder();

/** @param endAt after the last byte. @returns as UTF-8; what is none of it becomes U+FFFD. */
export function bytesText(bytes: Uint8Array, startAt = 0, endAt = bytes.length): string {
  const end = Math.min(endAt, bytes.length);
  if (end - startAt > SHORT) return decoder.decode(bytes.subarray(startAt, end));
  let text = "";
  for (let at = startAt; at < end; at += 1) {
    const byte = bytes[at]!;
    if (byte >= 0x80) return decoder.decode(bytes.subarray(startAt, end));
    text += String.fromCharCode(byte);
  }
  return text;
}
