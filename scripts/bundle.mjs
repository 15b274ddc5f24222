/**
 * The built package: one file for each of its entries and threads, and shared chunks between them. As hundreds of modules of their own, an
 * import would spend more time on opening files than on everything else. By rolldown's own function, since its command
 * prints a table of all chunks, and the demo begins with this.
 *
 *     node scripts/bundle.mjs [folder]        default: dist
 */
import { readFileSync } from "node:fs";
import { build } from "rolldown";

const { exports, bin, threads } = JSON.parse(readFileSync("package.json", "utf8"));
const built = [
  ...Object.values(exports).flatMap((one) => (typeof one === "string" ? [] : [one.default])),
  ...Object.values(bin),
  ...threads,
];
/** `./dist/x/index.js` is made from `src/x/index.ts`. */
const entries = built.map((path) => path.replace(/^\.\/dist\//, "").replace(/\.js$/, ""));

await build({
  input: Object.fromEntries(entries.map((name) => [name, `src/${name}.ts`])),
  platform: "node",
  // What is not ours is loaded from where it is installed, if it is.
  external: (id) => !/^[./]|^\0/.test(id) && !id.startsWith("/"),
  output: {
    dir: process.argv[2] ?? "dist",
    cleanDir: true,
    format: "esm",
    entryFileNames: "[name].js",
    // One folder deep, as the entries of most folders are: paths to data files stand relative to it.
    chunkFileNames: "chunks/[name]-[hash].js",
    hashCharacters: "hex",
  },
});
