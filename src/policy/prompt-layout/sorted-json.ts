/** JSON with the keys of every object in one order: equal for equal values, however they were put together. */
const DEPTH_MAX = 128;

export function sortedJson(value: unknown): string {
  return JSON.stringify(sorted(value, 0)) ?? "null";
}

function sorted(value: unknown, depth: number): unknown {
  if (typeof value !== "object" || value === null || depth >= DEPTH_MAX) return value;
  if (Array.isArray(value)) return value.map((one) => sorted(one, depth + 1));
  const entries = Object.entries(value).sort(([a], [b]) => (a < b ? -1 : a > b ? 1 : 0));
  return Object.fromEntries(entries.map(([key, one]) => [key, sorted(one, depth + 1)]));
}
