/** `npm run docs`: writes the pages, and the parts of pages, that are made from code. Tests fail when they are out of date. */
import { readFileSync, writeFileSync } from "node:fs";
import { dashboardFiles } from "./dashboards.ts";
import { demoBlock, withBlock } from "./demo-block.ts";
import { ENGINE_TABLES, withTable } from "./engine-tables.ts";
import { errorsPage } from "./errors-page.ts";

const root = new URL("../", import.meta.url);
writeFileSync(new URL("docs/errors.md", root), errorsPage());
for (const [name, table] of Object.entries(ENGINE_TABLES)) {
  const path = new URL(name, root);
  writeFileSync(path, withTable(readFileSync(path, "utf8"), table()));
}
for (const [name, text] of dashboardFiles()) writeFileSync(new URL(name, root), text);
const block = await demoBlock();
for (const name of ["README.md", "README.zh-CN.md"]) {
  const path = new URL(name, root);
  writeFileSync(path, withBlock(readFileSync(path, "utf8"), block));
}
