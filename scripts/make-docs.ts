/** `npm run docs`: writes the pages, and the parts of pages, that are made from code. Tests fail when they are out of date. */
import { readFileSync, writeFileSync } from "node:fs";
import { demoBlock, withBlock } from "./demo-block.ts";
import { errorsPage } from "./errors-page.ts";

const root = new URL("../", import.meta.url);
writeFileSync(new URL("docs/errors.md", root), errorsPage());
const block = await demoBlock();
for (const name of ["README.md", "README.zh-CN.md"]) {
  const path = new URL(name, root);
  writeFileSync(path, withBlock(readFileSync(path, "utf8"), block));
}
