/**
 * Parses TypeScript for the tests that read the source tree, with the compiler that this package is built with.
 *
 * TypeScript 7 offers its syntax trees under `typescript/unstable/*` only; the version is pinned in package.json and this
 * is the one file that imports it. Parsing goes through a file system in memory, so that planted faults, which prove
 * that a rule can fail, are read exactly as the real files are.
 */
import {
  type ExportDeclaration,
  type ImportClause,
  type Node,
  type SourceFile,
  SyntaxKind,
} from "typescript/unstable/ast";
import * as is from "typescript/unstable/ast/is";
import { createVirtualFileSystem } from "typescript/unstable/fs";
import { API } from "typescript/unstable/sync";

export { type ExportDeclaration, type ImportClause, is, type Node, type SourceFile, SyntaxKind };

/** No libraries and no resolution: only the text given is read. */
const CONFIG = {
  compilerOptions: { noLib: true, noResolve: true, allowImportingTsExtensions: true, noEmit: true },
  include: ["**/*"],
};

/** @param texts path from the repository's root → text. Paths end in `.ts`. Answers the trees in the same order. */
export function parse(texts: ReadonlyMap<string, string>): Map<string, SourceFile> {
  const files: Record<string, string> = { "/tsconfig.json": JSON.stringify(CONFIG) };
  for (const [path, text] of texts) files[`/${path}`] = text;
  const api = new API({ cwd: "/", fs: createVirtualFileSystem(files) });
  try {
    using snapshot = api.updateSnapshot({ openProject: "/tsconfig.json" });
    const program = snapshot.getProjects()[0]?.program;
    const trees = new Map<string, SourceFile>();
    for (const path of texts.keys()) {
      const tree = program?.getSourceFile(`/${path}`);
      if (tree === undefined) throw new Error(`TypeScript did not read ${path}`);
      trees.set(path, tree);
    }
    return trees;
  } finally {
    api.close();
  }
}

/** Calls `visit` for a node and everything below it, parents first. */
export function walk(node: Node, visit: (node: Node) => void): void {
  visit(node);
  node.forEachChild((child) => walk(child, visit));
}

/** The line, from 1, of an offset in a text. */
export function lineAt(text: string, offset: number): number {
  let line = 1;
  for (let at = text.indexOf("\n"); at >= 0 && at < offset; at = text.indexOf("\n", at + 1)) {
    line += 1;
  }
  return line;
}
