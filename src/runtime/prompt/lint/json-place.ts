/** Where a value, or a character within a text, stands in the JSON that it was read from: what a line and a column are made of. */

export type JsonPath = readonly (string | number)[];

/**
 * @param at characters into the value, if it is a text.
 * @returns characters from the beginning of `json`; null if there is no such value.
 */
export function placeInJson(json: string, path: JsonPath, at = 0): number | null {
  let place: number | null = blankEnd(json, 0);
  for (const step of path) {
    place = childPlace(json, place, step);
    if (place === null) return null;
  }
  return json[place] === '"' ? textPlace(json, place, at) : place;
}

/** `a[2].b` → ["a", 2, "b"]; the form of paths in layouts. */
export function stepsOf(path: string): (string | number)[] {
  return [...path.matchAll(/\[(\d+)\]|[^.[\]]+/g)].map(([word, index]) =>
    index === undefined ? word : Number(index),
  );
}

export function pathText(path: JsonPath): string {
  return path.reduce<string>((text, step) => {
    if (typeof step === "number") return `${text}[${step}]`;
    return text === "" ? step : `${text}.${step}`;
  }, "");
}

function childPlace(json: string, from: number, step: string | number): number | null {
  const open = json[from];
  if (open !== (typeof step === "number" ? "[" : "{")) return null;
  let at = blankEnd(json, from + 1);
  for (let index = 0; at < json.length && json[at] !== "]" && json[at] !== "}"; index += 1) {
    let name: string | number = index;
    if (open === "{") {
      const end = valueEnd(json, at);
      name = JSON.parse(json.slice(at, end)) as string;
      at = blankEnd(json, blankEnd(json, end) + 1);
    }
    if (name === step) return at;
    at = blankEnd(json, valueEnd(json, at));
    if (json[at] === ",") at = blankEnd(json, at + 1);
  }
  return null;
}

function blankEnd(json: string, from: number): number {
  let at = from;
  while (at < json.length && json.charCodeAt(at) <= 0x20) at += 1;
  return at;
}

/** @returns where the value that begins at `from` ends. */
function valueEnd(json: string, from: number): number {
  const first = json[from];
  if (first === '"') return textEnd(json, from);
  if (first !== "{" && first !== "[") {
    let at = from;
    while (at < json.length && !/[,\]}\s]/.test(json[at]!)) at += 1;
    return at;
  }
  let depth = 0;
  for (let at = from; at < json.length; at += 1) {
    const sign = json[at];
    if (sign === '"') at = textEnd(json, at) - 1;
    else if (sign === "{" || sign === "[") depth += 1;
    else if (sign === "}" || sign === "]") {
      depth -= 1;
      if (depth === 0) return at + 1;
    }
  }
  return json.length;
}

function textEnd(json: string, from: number): number {
  for (let at = from + 1; at < json.length; at += 1) {
    if (json[at] === "\\") at += 1;
    else if (json[at] === '"') return at + 1;
  }
  return json.length;
}

/** Escapes are longer than what they stand for. */
function textPlace(json: string, from: number, chars: number): number {
  let at = from + 1;
  for (let left = chars; left > 0 && json[at] !== '"' && at < json.length; left -= 1) {
    if (json[at] !== "\\") at += 1;
    else at += json[at + 1] === "u" ? 6 : 2;
  }
  return at;
}
