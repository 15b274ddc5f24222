/** What a TypeScript file takes from other modules and what it offers to them. */
import { posix } from "node:path";
import {
  type ExportDeclaration,
  type ImportClause,
  is,
  lineAt,
  type Node,
  type SourceFile,
  SyntaxKind,
  walk,
} from "./syntax.ts";

export interface ModuleImport {
  /** As written: `./a.ts`, `node:fs`, `undici`. */
  readonly specifier: string;
  readonly line: number;
  /** Names as the other module exports them; `*` for all of them, as in `import *`, `export *` and `import()`. */
  readonly names: readonly string[];
  /** Erased before it runs. */
  readonly typeOnly: boolean;
  /** `import()`: loaded when that line runs, not with the file. */
  readonly isDynamic: boolean;
}

/** Each `import`, `export … from`, `import()` and `import("…").Type` of a file. */
export function importsOf(tree: SourceFile): ModuleImport[] {
  const found: ModuleImport[] = [];
  const add = (at: Node, from: Node | undefined, names: string[], typeOnly: boolean): void => {
    if (from === undefined || !is.isStringLiteral(from)) return;
    const line = lineAt(tree.text, at.getStart(tree));
    const isDynamic = is.isCallExpression(at);
    found.push({ specifier: from.text, line, names, typeOnly, isDynamic });
  };
  walk(tree, (node) => {
    if (is.isImportDeclaration(node)) {
      const clause = node.importClause;
      const typeOnly = clause?.phaseModifier === SyntaxKind.TypeKeyword;
      add(node, node.moduleSpecifier, importedNames(clause), typeOnly);
    } else if (is.isExportDeclaration(node)) {
      add(node, node.moduleSpecifier, reexportedNames(node.exportClause), node.isTypeOnly);
    } else if (is.isCallExpression(node) && node.expression.kind === SyntaxKind.ImportKeyword) {
      add(node, node.arguments[0], ["*"], false);
    } else if (is.isImportTypeNode(node) && is.isLiteralTypeNode(node.argument)) {
      add(node, node.argument.literal, ["*"], true);
    }
  });
  return found;
}

/** Where a relative specifier leads, from the root; undefined for a package or a Node module. */
export function resolveRelative(from: string, specifier: string): string | undefined {
  if (!specifier.startsWith(".")) return undefined;
  return posix.join(posix.dirname(from), specifier);
}

function importedNames(clause: ImportClause | undefined): string[] {
  if (clause === undefined) return [];
  const names = clause.name === undefined ? [] : ["default"];
  const bindings = clause.namedBindings;
  if (bindings === undefined) return names;
  if (is.isNamespaceImport(bindings)) return [...names, "*"];
  return names.concat(bindings.elements.map((one) => (one.propertyName ?? one.name).text));
}

function reexportedNames(clause: ExportDeclaration["exportClause"]): string[] {
  if (clause === undefined || !is.isNamedExports(clause)) return ["*"];
  return clause.elements.map((one) => (one.propertyName ?? one.name).text);
}
