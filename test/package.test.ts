/** The package as its users get it: entries that exist, a light root, nothing in the tarball that does not belong there. */
import { execFileSync } from "node:child_process";
import { existsSync, readdirSync, readFileSync, statSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { VERSION } from "../src/version.ts";
import { importsOf, resolveRelative } from "./support/module-links.ts";
import { packageEntries, readPackage, sourceOf } from "./support/package-json.ts";
import { folderOf, packageOf, parseRankTable } from "./support/rank-rules.ts";
import { ROOT, readText, readTrees } from "./support/source-tree.ts";

const json = readPackage();
const trees = readTrees(["src"]);
const table = parseRankTable(readText("src/README.md"));
const isBuilt = existsSync(join(ROOT, "dist"));

/** All modules outside src that loading a file of src loads with it; what `import()` loads later is not among them. */
function loadedWith(entry: string): Set<string> {
  const outside = new Set<string>();
  const seen = new Set<string>();
  const visit = (path: string): void => {
    if (seen.has(path)) return;
    seen.add(path);
    for (const one of importsOf(trees.get(path)!)) {
      if (one.typeOnly || one.isDynamic) continue;
      const target = resolveRelative(path, one.specifier);
      if (target === undefined) outside.add(packageOf(one.specifier));
      else visit(target);
    }
  };
  visit(entry);
  return outside;
}

describe("package.json", () => {
  it("has the version that the code reports", () => {
    expect(VERSION).toBe(json.version);
  });

  it("exports only what exists in the source", () => {
    expect(packageEntries(json).filter((path) => !trees.has(path))).toEqual([]);
    const loose = Object.values(json.exports).filter((one) => typeof one === "string");
    expect(loose.filter((path) => !existsSync(join(ROOT, path)))).toEqual([]);
  });

  it("names types beside the code of each export", () => {
    for (const [name, one] of Object.entries(json.exports)) {
      if (typeof one === "string") continue;
      expect(one.types, name).toBe(one.default.replace(/\.js$/, ".d.ts"));
      // A later condition would never be reached.
      expect(Object.keys(one), name).toEqual(["types", "default"]);
    }
  });

  it("lists only files that exist", () => {
    const missing = json.files.filter((path) => path !== "dist" && !existsSync(join(ROOT, path)));
    expect(missing).toEqual([]);
  });

  it("pins each dependency, and has none that no code imports", () => {
    const pinned = Object.entries({ ...json.dependencies, ...json.devDependencies });
    for (const [name, version] of pinned) expect(version, name).toMatch(/^\d+\.\d+\.\d+$/);
    const imported = new Set(
      [...trees].flatMap(([path, tree]) =>
        path.endsWith(".test.ts") ? [] : importsOf(tree).map((one) => packageOf(one.specifier)),
      ),
    );
    expect(Object.keys(json.dependencies).filter((name) => !imported.has(name))).toEqual([]);
  });
});

describe("import", () => {
  it('of "manx" loads no module of Node and no package but the small one that names near misses', () => {
    expect([...loadedWith("src/index.ts")]).toEqual(["fastest-levenshtein"]);
  });

  it("of the command line loads nothing heavy before a command runs", () => {
    const loaded = [...loadedWith("src/cli/main.ts")].filter((name) => !name.startsWith("node:"));
    expect(loaded.sort()).toEqual(["commander", "fastest-levenshtein"]);
  });

  it("of an adapter loads no SDK, so that it works where another one is installed", () => {
    const entries = packageEntries(json).filter((path) => path.startsWith("src/adapters/"));
    expect(entries.length).toBeGreaterThan(4);
    for (const entry of entries) {
      const loaded = [...loadedWith(entry)].filter((name) => !name.startsWith("node:"));
      expect(loaded.filter((name) => !Object.hasOwn(json.dependencies, name))).toEqual([]);
    }
  });

  it("of what users may run in a browser loads no module of Node", () => {
    const entries = packageEntries(json).filter((path) => {
      const folder = folderOf(path) ?? "";
      return trees.has(path) && table.get(folder)?.runsIn === "anywhere";
    });
    expect(entries.length).toBeGreaterThan(2);
    for (const entry of entries) {
      const loaded = [...loadedWith(entry)];
      expect(loaded.filter((name) => name.startsWith("node:"))).toEqual([]);
    }
  });
});

/** Packages and modules of Node that a built file loads at once, through whatever chunks. */
function builtImports(entry: string): Set<string> {
  const found = new Set<string>();
  const seen = new Set<string>();
  const visit = (path: string): void => {
    if (seen.has(path)) return;
    seen.add(path);
    const text = readFileSync(path, "utf8");
    for (const [, from, bare] of text.matchAll(
      /^(?:import|export)\b[^;]*?\bfrom "([^"]+)";$|^import "([^"]+)";$/gm,
    )) {
      const name = from ?? bare!;
      if (name.startsWith(".")) visit(join(path, "..", name));
      else found.add(name);
    }
  };
  visit(join(ROOT, entry));
  return found;
}

describe.skipIf(!isBuilt)("the build (npm run build makes it)", () => {
  it("has code and types for each export", () => {
    for (const one of Object.values(json.exports)) {
      if (typeof one === "string") continue;
      for (const path of [one.default, one.types]) {
        expect(existsSync(join(ROOT, path)), `${path} is missing; run npm run build`).toBe(true);
      }
    }
  });

  it("keeps modules of Node out of what runs in a browser, through all of its chunks", () => {
    const entries = Object.values(json.exports).flatMap((one) =>
      typeof one === "string" ? [] : [one.default],
    );
    const browser = entries.filter((path) => {
      return table.get(folderOf(sourceOf(path) ?? "") ?? "")?.runsIn === "anywhere";
    });
    expect(browser.length).toBeGreaterThan(2);
    for (const entry of browser) {
      const loaded = [...builtImports(entry)].filter((name) => name.startsWith("node:"));
      expect(loaded, entry).toEqual([]);
    }
  });

  it("names no package but those that are installed with it, or that its user has brought", () => {
    const known = new Set([...Object.keys(json.dependencies), "@langchain/core"]);
    const chunks = readdirSync(join(ROOT, "dist"), { recursive: true, encoding: "utf8" });
    const strange = chunks
      .filter((path) => path.endsWith(".js"))
      .flatMap((path) => [...builtImports(join("dist", path))])
      .filter((name) => !name.startsWith("node:") && !known.has(packageOf(name)));
    expect(strange).toEqual([]);
  });

  it("has a command that a shell can run", () => {
    for (const path of Object.values(json.bin)) {
      expect(sourceOf(path)).toBeDefined();
      expect(readFileSync(join(ROOT, path), "utf8")).toMatch(/^#!\/usr\/bin\/env node\n/);
    }
  });

  it("makes a tarball without tests, sources or leftovers", () => {
    const command = ["pack", "--dry-run", "--json", "--ignore-scripts", "--offline"];
    const answer = execFileSync("npm", command, { cwd: ROOT, encoding: "utf8", stdio: "pipe" });
    const [tarball] = JSON.parse(answer) as [{ files: { path: string; size: number }[] }];
    const paths = tarball.files.map((file) => file.path);
    expect(paths).toEqual(expect.arrayContaining(["package.json", "LICENSE", "dist/cli/main.js"]));
    const strange = paths.filter((path) => {
      const isBuiltCode = /^dist\/.*\.(js|d\.ts)$/.test(path) && !/\.(test|fuzz)\./.test(path);
      return !isBuiltCode && !/^(data|schema)\/|^[^/]+$/.test(path);
    });
    expect(strange).toEqual([]);
    const total = paths.reduce((sum, path) => sum + statSync(join(ROOT, path)).size, 0);
    expect(total).toBeLessThan(8_000_000);
  });
});
