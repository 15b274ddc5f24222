/** How long files and functions are, and the ratchet that lets the long ones only shrink. */
import { isTest } from "./rank-rules.ts";
import { is, lineAt, type Node, type SourceFile, walk } from "./syntax.ts";

export const FILE_LINES_MAX = 400;
export const FUNCTION_LINES_MAX = 70;
export const INDEX_LINES_MAX = 40;

/** `path` or `path#function` → lines. */
export type Lengths = ReadonlyMap<string, number>;

export interface Ratchet {
  readonly files: Readonly<Record<string, number>>;
  readonly functions: Readonly<Record<string, number>>;
}

export function fileLengths(texts: ReadonlyMap<string, string>): Map<string, number> {
  const lengths = new Map<string, number>();
  for (const [path, text] of texts) lengths.set(path, text.trimEnd().split("\n").length);
  return lengths;
}

/** The longest of each name; in a test, `describe` is a heading, not a function. */
export function functionLengths(trees: ReadonlyMap<string, SourceFile>): Map<string, number> {
  const lengths = new Map<string, number>();
  for (const [path, tree] of trees) {
    walk(tree, (node) => {
      if (!is.isFunctionLikeDeclaration(node) || (isTest(path) && isHeading(node))) return;
      const first = lineAt(tree.text, node.getStart(tree));
      const lines = lineAt(tree.text, node.end) - first + 1;
      const key = `${path}#${functionName(node)}`;
      lengths.set(key, Math.max(lines, lengths.get(key) ?? 0));
    });
  }
  return lengths;
}

/**
 * @param longest the limit for what the ratchet does not name.
 * @returns a sentence for all that is longer than allowed, and for each allowance that could be smaller.
 */
export function lengthProblems(
  lengths: Lengths,
  allowances: Readonly<Record<string, number>>,
  longest: number,
): string[] {
  const problems: string[] = [];
  for (const [key, lines] of lengths) {
    const allowed = allowances[key];
    if (lines > Math.max(longest, allowed ?? 0)) {
      problems.push(
        `${key} has ${lines} lines, at most ${allowed ?? longest} are allowed; split it`,
      );
    }
  }
  for (const [key, allowed] of Object.entries(allowances)) {
    const lines = lengths.get(key) ?? 0;
    if (lines <= longest) problems.push(`${key} is short now; take it out of tidy-ratchet.json`);
    else if (lines < allowed) {
      problems.push(`${key} has shrunk; set it from ${allowed} to ${lines} in tidy-ratchet.json`);
    }
  }
  return problems;
}

function isHeading(node: Node): boolean {
  const { parent } = node;
  return is.isCallExpression(parent) && /^describe\b/.test(parent.expression.getText());
}

function functionName(node: Node): string {
  const named = node as Node & { name?: Node };
  const holder = named.name === undefined ? (node.parent as Node & { name?: Node }) : named;
  const own = holder.name?.getText() ?? "callback";
  const owner = is.isClassDeclaration(node.parent) ? `${node.parent.name?.getText()}.` : "";
  return `${owner}${own === "callback" && owner !== "" ? "constructor" : own}`;
}
