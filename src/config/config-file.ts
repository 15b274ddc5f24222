/**
 * `manx.config.jsonc` as text, as a tree with positions and as plain values. JSON with comments and trailing commas;
 * strict otherwise: one object, no key twice (of two, readers would take the last without a word), bounded in size and
 * depth. It knows no schema; a fault found later is shown here by its path.
 */
import {
  createScanner,
  type Node,
  type ParseError,
  parseTree,
  printParseErrorCode,
} from "jsonc-parser";
import { ManxError } from "../core/index.ts";
import type { ConfigPath } from "./config-path.ts";
import { SourceText } from "./source-text.ts";
import { readTextFile } from "./text-file.ts";

const BYTES_MAX = 2 ** 20;
/** The deepest setting is eight levels down; the parser itself would go down until the stack ends. */
const DEPTH_MAX = 64;
/** The scanner's kinds of tokens; its own names are a const enum, which does not exist at run time. */
const TOKEN = { openBrace: 1, closeBrace: 2, openBracket: 3, closeBracket: 4, end: 17 } as const;

export interface Place {
  /** `manx.config.jsonc:14:22` */
  readonly where: string;
  readonly excerpt: string;
}

export class ConfigFile {
  readonly path: string;
  /** The whole file as plain values. */
  readonly value: Readonly<Record<string, unknown>>;
  readonly #source: SourceText;
  readonly #root: Node;

  /** @throws MANX_CONFIG_SYNTAX */
  constructor(path: string, text: string) {
    this.path = path;
    // Editors on Windows begin a file with a byte-order mark.
    this.#source = new SourceText(text.replace(/^\uFEFF/, ""));
    this.#refuseDepth();
    const errors: ParseError[] = [];
    const root = parseTree(this.#source.text, errors, { allowTrailingComma: true });
    const [first] = errors;
    if (first !== undefined) {
      throw this.#syntax(first.offset, first.length, {
        what: PARSE_ERRORS[first.error] ?? printed(first),
      });
    }
    if (root?.type !== "object") {
      throw this.#syntax(root?.offset ?? 0, 1, {
        expected: "an object, {…}",
        got: root?.type ?? "nothing",
      });
    }
    this.#root = root;
    this.#refuseDoubles(root);
    this.value = plainValue(root) as Record<string, unknown>;
  }

  /** @returns where the value at `path` stands; the nearest value around it, if it is not in the file. */
  placeOf(path: ConfigPath): Place {
    let node = this.#root;
    for (const step of path) {
      const next = childOf(node, step);
      if (next === undefined) break;
      node = next;
    }
    // An object is pointed at by its name or its brace, not underlined to the end of the line.
    const length = node.type === "object" || node.type === "array" ? 1 : node.length;
    return this.#place(node.offset, length);
  }

  /** Where the name of the property stands. */
  placeOfKey(path: ConfigPath): Place {
    const parent = this.#nodeAt(path.slice(0, -1));
    const name = path[path.length - 1];
    const property = parent?.children?.find((one) => one.children?.[0]?.value === name);
    const key = property?.children?.[0];
    return key === undefined ? this.placeOf(path) : this.#place(key.offset, key.length);
  }

  has(path: ConfigPath): boolean {
    return this.#nodeAt(path) !== undefined;
  }

  #nodeAt(path: ConfigPath): Node | undefined {
    let node: Node | undefined = this.#root;
    for (const step of path) node = node === undefined ? undefined : childOf(node, step);
    return node;
  }

  #place(offset: number, length: number): Place {
    const { line, column } = this.#source.positionOf(offset);
    const excerpt = this.#source.excerpt(offset, length);
    return { where: `${this.path}:${line}:${column}`, excerpt };
  }

  #syntax(
    offset: number,
    length: number,
    parts: { what?: string; expected?: string; got?: string; hint?: string },
  ): ManxError {
    return new ManxError("MANX_CONFIG_SYNTAX", { ...this.#place(offset, length), ...parts });
  }

  /** Before parsing, which is recursive. */
  #refuseDepth(): void {
    const scanner = createScanner(this.#source.text, true);
    let depth = 0;
    for (let token = scanner.scan(); token !== TOKEN.end; token = scanner.scan()) {
      if (token === TOKEN.openBrace || token === TOKEN.openBracket) depth += 1;
      if (token === TOKEN.closeBrace || token === TOKEN.closeBracket) depth -= 1;
      if (depth > DEPTH_MAX) {
        const parts = { expected: `at most ${DEPTH_MAX} levels`, got: "one more" };
        throw this.#syntax(scanner.getTokenOffset(), 1, parts);
      }
    }
  }

  #refuseDoubles(node: Node): void {
    const seen = new Map<string, Node>();
    for (const child of node.children ?? []) {
      const [key, value] = node.type === "object" ? (child.children ?? []) : [undefined, child];
      if (key !== undefined) {
        const name = String(key.value);
        const first = seen.get(name);
        if (first !== undefined || name === "__proto__") {
          throw this.#syntax(
            key.offset,
            key.length,
            doubleParts(name, first && this.#lineOf(first)),
          );
        }
        seen.set(name, key);
      }
      if (value !== undefined) this.#refuseDoubles(value);
    }
  }

  #lineOf(node: Node): number {
    return this.#source.positionOf(node.offset).line;
  }
}

/** @throws MANX_FILE_UNREADABLE, MANX_CONFIG_SYNTAX */
export async function readConfigFile(path: string): Promise<ConfigFile> {
  return new ConfigFile(path, await readConfigText(path));
}

/** @throws MANX_FILE_UNREADABLE */
export function readConfigText(path: string): Promise<string> {
  return readTextFile(path, BYTES_MAX);
}

function childOf(node: Node, step: string | number): Node | undefined {
  if (node.type === "array") return typeof step === "number" ? node.children?.[step] : undefined;
  return node.children?.find((one) => one.children?.[0]?.value === step)?.children?.[1];
}

function plainValue(node: Node): unknown {
  if (node.type === "array") return (node.children ?? []).map(plainValue);
  if (node.type !== "object") return node.value;
  const value: Record<string, unknown> = {};
  // `__proto__` has been refused, so an assignment makes a property.
  for (const { children: [key, child] = [] } of node.children ?? []) {
    if (key !== undefined && child !== undefined) value[String(key.value)] = plainValue(child);
  }
  return value;
}

function doubleParts(name: string, firstLine: number | undefined): { what: string; hint: string } {
  return firstLine === undefined
    ? { what: `"${name}" cannot be a key`, hint: "take another name" }
    : {
        what: `the key "${name}" stands twice`,
        hint: `take one of them out; line ${firstLine} has the other`,
      };
}

/** jsonc-parser's codes that people run into, in words. */
const PARSE_ERRORS: Readonly<Record<number, string>> = {
  1: "this is no value; texts stand in double quotes",
  2: "this is no number",
  3: "a key in double quotes is missing here",
  4: "a value is missing here",
  5: "a colon is missing here",
  6: "a comma is missing here",
  7: "a closing brace is missing",
  8: "a closing bracket is missing",
  9: "there is something after the end of the configuration",
  11: "a comment is not closed",
  12: "a text is not closed",
  13: "a number is not finished",
  14: "not a Unicode escape",
  15: "not an escape that JSON has",
  16: "a control character stands in a text",
};

function printed(error: ParseError): string {
  return printParseErrorCode(error.error);
}
