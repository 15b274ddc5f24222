/** Replaces a small file as a whole, so that a reader sees the old or the new one and a crash leaves either. */
import { open, rename, rm } from "node:fs/promises";
import { basename, dirname, join } from "node:path";
import { ManxError } from "../../core/index.ts";

/** Its owner alone can read it. On disk when this resolves. @throws MANX_OUTPUT_UNWRITABLE */
export async function replaceFile(path: string, text: string): Promise<void> {
  const fresh = join(dirname(path), `.${basename(path)}.new`);
  try {
    // Left over from a crash, it may have other rights than a new one gets.
    await rm(fresh, { force: true });
    const file = await open(fresh, "wx", 0o600);
    try {
      await file.writeFile(text);
      await file.sync();
    } finally {
      await file.close();
    }
    await rename(fresh, path);
    const folder = await open(dirname(path), "r");
    await folder.sync().finally(() => folder.close());
  } catch (thrown) {
    await rm(fresh, { force: true });
    throw unwritable(path, thrown as NodeJS.ErrnoException);
  }
}

export function unwritable(where: string, cause: NodeJS.ErrnoException): ManxError {
  const hint = "choose another file, or mend the rights of its folder";
  return new ManxError("MANX_OUTPUT_UNWRITABLE", {
    where,
    got: cause.code ?? cause.message,
    hint,
    cause,
  });
}
