/**
 * Ids as exporters really send them. OTLP/JSON has lower-case hex; seen are upper case, base64 of the bytes, base64 of the
 * hex text, and arrays of bytes (casebook TR-01). All become lower-case hex, so that parents and links meet again.
 */

export interface ReadId {
  /** Lower-case hex; null where there is none: absent, empty, or all zeros. */
  readonly id: string | null;
  /** Not lower-case hex; said once for each export. */
  readonly isOdd: boolean;
}

const NONE: ReadId = { id: null, isOdd: false };

/**
 * @param bytes 16 for a trace, 8 for a span.
 * @returns undefined for what is no id of this length in any form.
 */
export function readId(value: unknown, bytes: 8 | 16): ReadId | undefined {
  if (value === undefined || value === null || value === "") return NONE;
  if (typeof value === "string") return textId(value, bytes);
  const data = Array.isArray(value) ? value : (value as { data?: unknown }).data;
  if (!Array.isArray(data)) return undefined;
  if (data.length === 0) return NONE;
  return data.length === bytes && data.every(isByte) ? hexId(hexOf(data), true) : undefined;
}

function textId(text: string, bytes: number): ReadId | undefined {
  if (text.length === 2 * bytes && /^[0-9a-f]+$/i.test(text)) {
    return hexId(text.toLowerCase(), /[A-F]/.test(text));
  }
  const decoded = fromBase64(text);
  if (decoded === undefined) return undefined;
  if (decoded.length === bytes) return hexId(hexOf(decoded), true);
  const ascii = String.fromCharCode(...decoded.slice(0, 64));
  const isHexText = decoded.length === 2 * bytes && /^[0-9a-f]+$/i.test(ascii);
  return isHexText ? hexId(ascii.toLowerCase(), true) : undefined;
}

function hexId(hex: string, isOdd: boolean): ReadId {
  return /^0+$/.test(hex) ? NONE : { id: hex, isOdd };
}

function isByte(value: unknown): value is number {
  return Number.isInteger(value) && (value as number) >= 0 && (value as number) <= 255;
}

function hexOf(bytes: readonly number[]): string {
  return bytes.map((byte) => byte.toString(16).padStart(2, "0")).join("");
}

/** Longer than any id in any form. */
const BASE64_MAX = 64;

function fromBase64(text: string): number[] | undefined {
  if (text.length > BASE64_MAX || !/^[\w+/-]+={0,2}$/.test(text)) return undefined;
  try {
    const plain = atob(text.replaceAll("-", "+").replaceAll("_", "/"));
    return Array.from(plain, (character) => character.charCodeAt(0));
  } catch {
    return undefined;
  }
}

/** An id of ours to write: hex of this length as it is, anything else as a hash of it. */
export function writtenId(id: string, bytes: 8 | 16): string {
  const digits = 2 * bytes;
  if (id.length === digits && /^[0-9a-f]+$/.test(id) && !/^0+$/.test(id)) return id;
  let text = "";
  for (let word = 0; text.length < digits; word += 1) text += hash32(`${word}:${id}`);
  return text.replace(/^0/, "1");
}

/** FNV-1a over UTF-16 code units, 8 hex digits. */
function hash32(text: string): string {
  let hash = 0x811c9dc5;
  for (let i = 0; i < text.length; i += 1) {
    hash = Math.imul(hash ^ text.charCodeAt(i), 0x01000193);
  }
  return (hash >>> 0).toString(16).padStart(8, "0");
}
