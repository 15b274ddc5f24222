/** `npm run docs`: writes the pages that are made from code. A test fails when they are out of date. */
import { writeFileSync } from "node:fs";
import { errorsPage } from "./errors-page.ts";

writeFileSync(new URL("../docs/errors.md", import.meta.url), errorsPage());
