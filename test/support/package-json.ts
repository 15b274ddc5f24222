/** package.json as the tests read it, and where its entries lie in the source. */
import { readText } from "./source-tree.ts";

export interface PackageJson {
  readonly name: string;
  readonly version: string;
  readonly type: string;
  readonly bin: Readonly<Record<string, string>>;
  /** Files that the package starts by their path, in threads of their own. */
  readonly threads: readonly string[];
  readonly files: readonly string[];
  readonly exports: Readonly<Record<string, string | { types: string; default: string }>>;
  readonly scripts: Readonly<Record<string, string>>;
  readonly dependencies: Readonly<Record<string, string>>;
  readonly devDependencies: Readonly<Record<string, string>>;
}

export function readPackage(): PackageJson {
  return JSON.parse(readText("package.json")) as PackageJson;
}

/** `./dist/x/index.js` → `src/x/index.ts`; undefined for what is no built code. */
export function sourceOf(built: string): string | undefined {
  return /^\.\/dist\/.*\.js$/.test(built)
    ? built.replace("./dist/", "src/").replace(/\.js$/, ".ts")
    : undefined;
}

/** The source files that no other leads to: `exports` and `bin`, through which users come in, and `threads`. */
export function packageEntries(json: PackageJson): string[] {
  const built = Object.values(json.exports).map((one) =>
    typeof one === "string" ? one : one.default,
  );
  return [...built, ...Object.values(json.bin), ...json.threads]
    .map(sourceOf)
    .filter((path) => path !== undefined);
}
