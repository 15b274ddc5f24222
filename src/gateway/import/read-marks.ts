/**
 * A foreign configuration whose reading leaves marks: what an importer has looked at is known, and the rest can be told to
 * the user instead of being lost without a word.
 */
export class ReadMarks {
  readonly root: unknown;
  readonly #read = new Set<string>();

  constructor(root: unknown) {
    this.root = root;
  }

  /** What lies at `path`, or undefined; marks it and all below it as read. */
  take(path: readonly (string | number)[]): unknown {
    this.#read.add(keyOf(path));
    return this.peek(path);
  }

  /** Without a mark. */
  peek(path: readonly (string | number)[]): unknown {
    let value = this.root;
    for (const step of path) {
      if (typeof value !== "object" || value === null || !Object.hasOwn(value, step))
        return undefined;
      value = (value as Record<string | number, unknown>)[step];
    }
    return value;
  }

  text(path: readonly (string | number)[]): string | undefined {
    const value = this.take(path);
    if (typeof value === "number" || typeof value === "boolean") return String(value);
    return typeof value === "string" && value !== "" ? value : undefined;
  }

  /** A number, also one that is written as text. */
  number(path: readonly (string | number)[]): number | undefined {
    const value = this.take(path);
    const number = typeof value === "string" && value.trim() !== "" ? Number(value) : value;
    return typeof number === "number" && Number.isFinite(number) ? number : undefined;
  }

  /** How many elements the list at `path` has; 0 if it is none. Not a mark: its elements are read one by one. */
  length(path: readonly (string | number)[]): number {
    const value = this.peek(path);
    return Array.isArray(value) ? value.length : 0;
  }

  /** Paths of values that nobody took, at most `most`. */
  unread(most: number): string[] {
    const found: string[] = [];
    const visit = (value: unknown, path: readonly (string | number)[]): void => {
      if (found.length >= most || this.#read.has(keyOf(path))) return;
      const isGroup = typeof value === "object" && value !== null && Object.keys(value).length > 0;
      if (!isGroup) {
        // An empty value sets nothing.
        if (path.length > 0 && value !== null && value !== "") found.push(path.join("."));
        return;
      }
      const entries: [string | number, unknown][] = Array.isArray(value)
        ? value.map((one, index) => [index, one])
        : Object.entries(value);
      for (const [step, one] of entries) visit(one, [...path, step]);
    };
    visit(this.root, []);
    return found;
  }
}

function keyOf(path: readonly (string | number)[]): string {
  return path.map(String).join("\0");
}
