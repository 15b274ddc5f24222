/**
 * The rank table of src/README.md as data, and what it forbids. Since a file imports from lower ranks only, folders
 * cannot form a cycle.
 */
import { importsOf, type ModuleImport, resolveRelative } from "./module-links.ts";
import type { SourceFile } from "./syntax.ts";

export interface FolderRow {
  readonly rank: number;
  readonly runsIn: "anywhere" | "Node";
}

/** What each folder may take from outside the project, and why it is worth a dependency. */
export const PACKAGES_ALLOWED: Readonly<Record<string, Readonly<Record<string, string>>>> = {
  core: { "fastest-levenshtein": "nearest names in errors; 2 kB, no dependencies" },
  config: {
    "jsonc-parser": "JSON with comments, as a tree with positions",
    zod: "sections' schemas, and the issues that become errors",
  },
  trace: { zod: "the schema of the turn document, which an agent does not load" },
  "engine-server": {
    "prom-client": "the /metrics text format",
    zod: "faults as written, and the schema of the config file",
  },
  gateway: {
    undici: "requests of its own: checks, traces, replicas' metrics, the rehearsal",
    "prom-client": "the /metrics text format",
    yaml: "LiteLLM's configuration, to import it; loaded for that alone",
    zod: "the schema of the configuration",
    ioredis: "limits shared between gateways; loaded on first use",
  },
  load: { undici: "one dispatcher per target", zod: "the schema of the result document" },
  runtime: {
    zod: "tools' JSON Schemas; loaded on first use",
    ajv: "validators compiled ahead; loaded by manx precompile alone",
  },
  adapters: {
    "@langchain/core": "its class of tool messages; loaded when a node runs, never installed",
    undici: "a pool that keeps its connections, for a warm start",
  },
  testing: { vitest: "types of its matchers, to add ours to; never loaded" },
  explain: { zod: "the schema of the fitted cost" },
  cli: { commander: "the command table" },
};

/** Files of src that belong to no folder. */
const INDEX = "src/index.ts";
const VERSION = "src/version.ts";
const ROOT_FILES: readonly string[] = [INDEX, VERSION];

/** Reads `| rank | folder | runs in | …` rows. Throws on a row that it cannot read, since a typo would lift a ban. */
export function parseRankTable(markdown: string): Map<string, FolderRow> {
  const rows = new Map<string, FolderRow>();
  for (const line of markdown.split("\n")) {
    if (!/^\|\s*\d/.test(line)) continue;
    const cells = line.split("|").map((cell) => cell.trim());
    const [, rank = "", folder = "", runsIn = "", sentence = ""] = cells;
    if (!/^\d+$/.test(rank) || !/^[a-z][a-z-]*$/.test(folder) || sentence === "") {
      throw new Error(`src/README.md: not a row of the rank table: ${line}`);
    }
    if (runsIn !== "anywhere" && runsIn !== "Node") {
      throw new Error(`src/README.md: ${folder} runs in "anywhere" or "Node", got "${runsIn}"`);
    }
    if (rows.has(folder)) throw new Error(`src/README.md: two rows for ${folder}`);
    rows.set(folder, { rank: Number(rank), runsIn });
  }
  return rows;
}

/** `src/x/a.ts` → `x`; undefined for a file that lies directly in src. */
export function folderOf(path: string): string | undefined {
  return /^src\/([^/]+)\//.exec(path)?.[1];
}

export function isTest(path: string): boolean {
  return /\.(test|fuzz|bench)\.ts$/.test(path);
}

/** One sentence for each import that the table does not allow, and for each folder without row or row without folder. */
export function rankProblems(
  trees: ReadonlyMap<string, SourceFile>,
  table: ReadonlyMap<string, FolderRow>,
): string[] {
  const folders = new Set([...trees.keys()].map(folderOf).filter((name) => name !== undefined));
  const problems: string[] = [];
  for (const folder of folders) {
    if (!table.has(folder)) problems.push(`src/README.md has no row for src/${folder}`);
  }
  for (const folder of table.keys()) {
    if (!folders.has(folder))
      problems.push(`src/README.md has a row for src/${folder}, which has no file`);
  }
  for (const [path, tree] of trees) {
    if (folderOf(path) === undefined && !ROOT_FILES.includes(path)) {
      problems.push(`${path} lies outside the folders; move it into one`);
      continue;
    }
    for (const one of importsOf(tree)) {
      const problem = importProblem(path, one, trees, table);
      if (problem !== undefined)
        problems.push(`${path}:${one.line} imports ${one.specifier}: ${problem}`);
    }
  }
  return problems;
}

function importProblem(
  path: string,
  { specifier }: ModuleImport,
  trees: ReadonlyMap<string, SourceFile>,
  table: ReadonlyMap<string, FolderRow>,
): string | undefined {
  const target = resolveRelative(path, specifier);
  if (target === undefined) return outsideProblem(path, specifier, table);
  if (isTest(path) && target.startsWith("test/support/")) return undefined;
  if (!trees.has(target)) return "no such file in src; relative imports name a file and end in .ts";
  if (!isTest(path) && isTest(target)) return "code may not import a test";
  if (target === VERSION) return undefined;
  if (target === INDEX) return "the root export is for users; import the folder itself";
  if (path === VERSION) return "version.ts imports nothing";
  return folderProblem(path, target, table);
}

function folderProblem(
  path: string,
  target: string,
  table: ReadonlyMap<string, FolderRow>,
): string | undefined {
  const from = folderOf(path);
  const to = folderOf(target)!;
  if (from === to) return undefined;
  const lower = table.get(to);
  if (from === undefined) {
    return lower?.runsIn === "anywhere"
      ? undefined
      : `src/index.ts must run anywhere, ${to} does not`;
  }
  const upper = table.get(from);
  // Folders without a row have been reported already.
  if (upper === undefined || lower === undefined) return undefined;
  // A test may use a neighbour (stats are tested with the seeded Random of clock): nothing imports a test.
  if (lower.rank === upper.rank && !isTest(path)) {
    return `${from} and ${to} are both of rank ${upper.rank}; move what they share to a lower rank`;
  }
  if (lower.rank > upper.rank) {
    return `rank ${upper.rank} (${from}) may not import rank ${lower.rank} (${to}); pass it in from above`;
  }
  if (upper.runsIn === "anywhere" && lower.runsIn === "Node" && !isTest(path)) {
    return `${from} runs anywhere, ${to} in Node only; pass it in from above`;
  }
  return undefined;
}

function outsideProblem(
  path: string,
  specifier: string,
  table: ReadonlyMap<string, FolderRow>,
): string | undefined {
  if (isTest(path)) return undefined;
  const folder = folderOf(path);
  if (specifier.startsWith("node:")) {
    const runsIn = folder === undefined ? "anywhere" : table.get(folder)?.runsIn;
    return runsIn === "Node" ? undefined : `${folder ?? path} runs anywhere, so it has no node:*`;
  }
  const allowed = folder === undefined ? {} : (PACKAGES_ALLOWED[folder] ?? {});
  if (Object.hasOwn(allowed, packageOf(specifier))) return undefined;
  const names = Object.keys(allowed).join(", ") || "none";
  return `${folder ?? path} may use these packages: ${names}; a new one needs a reason in test/support/rank-rules.ts`;
}

/** `@a/b/c` → `@a/b`, `a/b` → `a`. */
export function packageOf(specifier: string): string {
  return specifier
    .split("/")
    .slice(0, specifier.startsWith("@") ? 2 : 1)
    .join("/");
}

/** Folder → folders that its code (not its tests) imports. */
export function folderGraph(trees: ReadonlyMap<string, SourceFile>): Map<string, Set<string>> {
  const graph = new Map<string, Set<string>>();
  for (const [path, tree] of trees) {
    const from = folderOf(path);
    if (from === undefined || isTest(path)) continue;
    const targets = graph.get(from) ?? new Set();
    graph.set(from, targets);
    for (const { specifier } of importsOf(tree)) {
      const to = folderOf(resolveRelative(path, specifier) ?? "");
      if (to !== undefined && to !== from) targets.add(to);
    }
  }
  return graph;
}
