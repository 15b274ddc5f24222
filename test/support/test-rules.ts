/** Tests that would pass whatever the code does: focused ones, which hide the others, and those that expect nothing. */
import { is, lineAt, type Node, type SourceFile, walk } from "./syntax.ts";

const RUNNERS = /^(it|test|describe)\b/;

export function focusedTests(path: string, tree: SourceFile): string[] {
  const problems: string[] = [];
  walk(tree, (node) => {
    if (!is.isPropertyAccessExpression(node) || node.name.text !== "only") return;
    if (!RUNNERS.test(node.expression.getText(tree))) return;
    const line = lineAt(tree.text, node.getStart(tree));
    problems.push(`${path}:${line} runs only one test; drop .only`);
  });
  return problems;
}

/** Tests whose body neither expects nor asserts nor calls what does: a function of the file, or one named so. */
export function emptyTests(path: string, tree: SourceFile): string[] {
  const checking = checkingFunctions(tree);
  const problems: string[] = [];
  walk(tree, (node) => {
    if (!is.isCallExpression(node) || !/^(it|test)\b/.test(node.expression.getText(tree))) return;
    const body = node.arguments.find(
      (one) => is.isArrowFunction(one) || is.isFunctionExpression(one),
    );
    if (body === undefined || checks(body, checking)) return;
    const title = node.arguments[0]?.getText(tree) ?? "";
    problems.push(`${path}:${lineAt(tree.text, node.getStart(tree))} expects nothing: ${title}`);
  });
  return problems;
}

/** Names of the file's functions that check something, directly or through each other. */
function checkingFunctions(tree: SourceFile): Set<string> {
  const bodies = new Map<string, Node>();
  walk(tree, (node) => {
    if (is.isFunctionDeclaration(node) || is.isVariableDeclaration(node)) {
      if (node.name !== undefined) bodies.set(node.name.getText(tree), node);
    }
  });
  const names = new Set<string>();
  for (let before = -1; before !== names.size; ) {
    before = names.size;
    for (const [name, body] of bodies) if (checks(body, names)) names.add(name);
  }
  return names;
}

function checks(body: Node, names: ReadonlySet<string>): boolean {
  let found = false;
  walk(body, (node) => {
    if (is.isIdentifier(node)) found ||= node.text === "expect";
    if (!is.isCallExpression(node)) return;
    const callee = node.expression;
    const last = is.isPropertyAccessExpression(callee) ? callee.name : callee;
    if (!is.isIdentifier(last)) return;
    const { text } = last;
    found ||= /^(assert|check|expect)([A-Z_]|$)/.test(text) || names.has(text);
  });
  return found;
}
