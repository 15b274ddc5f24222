/** @returns bytes that a text has in UTF-8; each half of a surrogate pair is two of its four. */
export function utf8Bytes(text: string, end = text.length): number {
  let bytes = 0;
  for (let i = 0; i < end; i += 1) {
    const unit = text.charCodeAt(i);
    const isHalf = unit >= 0xd800 && unit <= 0xdfff;
    bytes += unit < 0x80 ? 1 : unit < 0x800 || isHalf ? 2 : 3;
  }
  return bytes;
}
