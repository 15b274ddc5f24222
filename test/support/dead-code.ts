/** Exports that nobody imports, and files that no entry of the package reaches. */
import { posix } from "node:path";
import { importsOf, resolveRelative } from "./module-links.ts";
import { isTest } from "./rank-rules.ts";
import { is, type Node, type SourceFile, SyntaxKind, walk } from "./syntax.ts";

/** Names that a file exports by declaring them, not by passing them on. */
export function declaredExports(tree: SourceFile): string[] {
  const names: string[] = [];
  for (const statement of tree.statements) {
    if (is.isExportAssignment(statement)) names.push("default");
    if (is.isExportDeclaration(statement) && statement.moduleSpecifier === undefined) {
      const clause = statement.exportClause;
      if (clause !== undefined && is.isNamedExports(clause)) {
        names.push(...clause.elements.map((one) => one.name.text));
      }
    }
    if (!hasModifier(statement, SyntaxKind.ExportKeyword)) continue;
    if (hasModifier(statement, SyntaxKind.DefaultKeyword)) names.push("default");
    else if (is.isVariableStatement(statement)) {
      names.push(...statement.declarationList.declarations.map((one) => one.name.getText(tree)));
    } else {
      const named = statement as Node & { name?: Node };
      if (named.name !== undefined) names.push(named.name.getText(tree));
    }
  }
  return names;
}

/** Exported types that the same file uses: what its functions take and answer has to have a name outside too. */
function ownTypes(tree: SourceFile): Set<string> {
  const declared = new Set<string>();
  const used = new Set<string>();
  walk(tree, (node) => {
    if (is.isInterfaceDeclaration(node) || is.isTypeAliasDeclaration(node)) {
      declared.add(node.name.text);
    } else if (is.isTypeReferenceNode(node)) used.add(node.typeName.getText(tree));
  });
  return new Set([...declared].filter((name) => used.has(name)));
}

/**
 * @param trees all files that may import, tests and benchmarks included.
 * @param entries files of src whose exports are for the outside: the package's `exports` and `bin`.
 * @returns a sentence for each export of src that nothing takes. What an entry passes on is taken; what another
 *   index.ts passes on has to be imported through it. A type that its own file uses is part of what it describes.
 */
export function deadExports(
  trees: ReadonlyMap<string, SourceFile>,
  entries: readonly string[],
): string[] {
  const taken = takenNames(trees, entries);
  const problems: string[] = [];
  for (const [path, tree] of trees) {
    if (!path.startsWith("src/") || isTest(path) || entries.includes(path)) continue;
    const types = ownTypes(tree);
    for (const name of declaredExports(tree)) {
      if (types.has(name)) continue;
      if (taken.has(`${path} ${name}`) || taken.has(`${path} *`)) continue;
      problems.push(`${path} exports ${name}, which nothing imports; drop the export or the code`);
    }
  }
  return problems;
}

/** `path name` of all that another file takes, followed through each index.ts to where it is declared. */
function takenNames(
  trees: ReadonlyMap<string, SourceFile>,
  entries: readonly string[],
): ReadonlySet<string> {
  const links = [...trees].flatMap(([path, tree]) =>
    importsOf(tree).map(({ names, specifier }) => ({
      path,
      names,
      target: resolveRelative(path, specifier),
    })),
  );
  const passesOn = ({ path }: { path: string }): boolean =>
    posix.basename(path) === "index.ts" && !entries.includes(path);
  const taken = new Set<string>();
  for (const { names, target } of links.filter((link) => !passesOn(link))) {
    for (const name of names) taken.add(`${target} ${name}`);
  }
  // An index may pass on what another one passes on: repeat until nothing new is taken.
  for (let before = -1; before !== taken.size; ) {
    before = taken.size;
    for (const { path, names, target } of links.filter(passesOn)) {
      const isWhole = names.includes("*");
      for (const one of [...taken].filter((key) => key.startsWith(`${path} `))) {
        const name = one.slice(path.length + 1);
        if (name === "*") for (const each of names) taken.add(`${target} ${each}`);
        else if (isWhole || names.includes(name)) taken.add(`${target} ${name}`);
      }
    }
  }
  return taken;
}

/** Files of src that no entry reaches, tests aside: code that only a test runs is dead. */
export function deadFiles(
  trees: ReadonlyMap<string, SourceFile>,
  entries: readonly string[],
): string[] {
  const reached = new Set<string>();
  const visit = (path: string): void => {
    const tree = trees.get(path);
    if (tree === undefined || reached.has(path)) return;
    reached.add(path);
    for (const { specifier } of importsOf(tree)) visit(resolveRelative(path, specifier) ?? "");
  };
  for (const entry of entries) visit(entry);
  return [...trees.keys()]
    .filter((path) => path.startsWith("src/") && !isTest(path) && !reached.has(path))
    .map((path) => `${path} is reached from no entry of the package; drop it or wire it in`);
}

function hasModifier(statement: Node, kind: SyntaxKind): boolean {
  const { modifiers } = statement as Node & { modifiers?: readonly Node[] };
  return modifiers?.some((one) => one.kind === kind) ?? false;
}
