/**
 * Whether a regular expression may take years on a short text: a repetition within a repetition, or alternatives that
 * begin alike within one. The arguments of a model are somebody else's text, and nothing in JavaScript stops a pattern
 * from within. It errs on the side of a warning: `(\w+\.)+` is harmless and still named.
 */

interface Group {
  /** Holds a repetition without end, at any depth. */
  hasLoop: boolean;
  /** What the alternatives begin with, as far as it is a plain character. */
  readonly begins: string[];
}

/** @returns what is risky, in words, or undefined. */
export function patternRisk(pattern: string): string | undefined {
  const stack: Group[] = [{ hasLoop: false, begins: [""] }];
  for (let at = 0; at < pattern.length; ) {
    const char = pattern[at]!;
    const top = stack.at(-1)!;
    let atom = char;
    let closed: Group | undefined;
    if (char === "\\") atom = pattern.slice(at, at + 2);
    else if (char === "[") atom = classAt(pattern, at);
    else if (char === "(") {
      stack.push({ hasLoop: false, begins: [""] });
      at += openingAt(pattern, at);
      continue;
    } else if (char === "|") {
      top.begins.push("");
      at += 1;
      continue;
    } else if (char === ")" && stack.length > 1) closed = stack.pop();
    at += Math.max(1, atom.length);
    const owner = stack.at(-1)!;
    if (owner.begins.at(-1) === "") owner.begins[owner.begins.length - 1] = atom;
    const quantifier = /^(?:[*+]|\{\d+,\})\??/.exec(pattern.slice(at, at + 12));
    if (closed?.hasLoop === true) owner.hasLoop = true;
    if (quantifier === null) continue;
    at += quantifier[0].length;
    if (closed?.hasLoop === true) return "a repetition within a repetition";
    if (closed !== undefined && new Set(closed.begins).size < closed.begins.length) {
      return "alternatives that begin alike within a repetition";
    }
    owner.hasLoop = true;
  }
  return undefined;
}

function classAt(pattern: string, start: number): string {
  for (let at = start + 1; at < pattern.length; at += 1) {
    if (pattern[at] === "\\") at += 1;
    else if (pattern[at] === "]" && at > start + 1) return pattern.slice(start, at + 1);
  }
  return pattern.slice(start);
}

/** `(`, `(?:`, `(?=`, `(?<name>` … */
function openingAt(pattern: string, at: number): number {
  return /^\((?:\?(?:[:=!]|<[=!]|<\w+>))?/.exec(pattern.slice(at, at + 80))![0].length;
}
