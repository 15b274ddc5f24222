/** The files of this project as a reader of the repository sees them: without what is installed or built. */
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { parse, type SourceFile } from "./syntax.ts";

export const ROOT = fileURLToPath(new URL("../../", import.meta.url));

/** As in .gitignore; names at the root start with a slash. */
const NOT_OURS = new Set(
  [".git", "node_modules", "dist", "coverage", ".manx"].concat("/result.json", "/report.html"),
);

/** Paths from the root with `/` between names, sorted. */
export function projectFiles(under = ""): string[] {
  const paths: string[] = [];
  const visit = (folder: string): void => {
    for (const entry of readdirSync(join(ROOT, folder), { withFileTypes: true })) {
      const path = folder === "" ? entry.name : `${folder}/${entry.name}`;
      if (NOT_OURS.has(entry.name) || NOT_OURS.has(`/${path}`)) continue;
      if (entry.isDirectory()) visit(path);
      else if (entry.isFile()) paths.push(path);
    }
  };
  visit(under);
  return paths.sort();
}

export function readText(path: string): string {
  return readFileSync(join(ROOT, path), "utf8");
}

/** The syntax trees of all TypeScript files below the folders named. */
export function readTrees(folders: readonly string[]): Map<string, SourceFile> {
  const paths = folders.flatMap((folder) => projectFiles(folder));
  const sources = paths.filter((path) => path.endsWith(".ts") && !path.endsWith(".d.ts"));
  return parse(new Map(sources.map((path) => [path, readText(path)])));
}
