/**
 * The file of keys: JSON, readable by its owner alone, replaced as a whole so that a reader sees the old or the new one and
 * a crash leaves either. Writers take turns by a lock file; the gateway only reads.
 */
import { open, rm } from "node:fs/promises";
import { z } from "zod";
import { issueText, readTextFile } from "../../config/index.ts";
import { ManxError } from "../../core/index.ts";
import { type KeyRecord, keyRecordSchema } from "./key-record.ts";
import { replaceFile, unwritable } from "./replace-file.ts";

const BYTES_MAX = 32 * 2 ** 20;
const KEYS_MAX = 50_000;

const fileSchema = z.strictObject({
  version: z.literal(1),
  keys: z.array(keyRecordSchema).max(KEYS_MAX),
});

/**
 * @returns no keys if there is no such file and `isNewFine`.
 * @throws MANX_FILE_UNREADABLE, MANX_KEY_FILE
 */
export async function readKeyFile(path: string, isNewFine = false): Promise<KeyRecord[]> {
  try {
    return parseKeys(path, await readTextFile(path, BYTES_MAX));
  } catch (thrown) {
    const { cause } = thrown as { cause?: NodeJS.ErrnoException };
    if (isNewFine && cause?.code === "ENOENT") return [];
    throw thrown;
  }
}

function parseKeys(where: string, text: string): KeyRecord[] {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch (cause) {
    // The parser's own message would show a piece of the file.
    throw new ManxError("MANX_KEY_FILE", { where, expected: "JSON", got: "something else", cause });
  }
  const checked = fileSchema.safeParse(value);
  if (!checked.success) {
    const issue = checked.error.issues[0]!;
    const at = issue.path.map(String).join(".");
    throw new ManxError("MANX_KEY_FILE", { where: `${where}: ${at}`, expected: issueText(issue) });
  }
  const seen = new Set<string>();
  for (const { id } of checked.data.keys) {
    if (seen.has(id))
      throw new ManxError("MANX_KEY_FILE", { where, what: `mk_${id} stands twice` });
    seen.add(id);
  }
  return checked.data.keys;
}

/**
 * Reads, changes and replaces the file, one at a time.
 *
 * @param change gives the new keys; what it throws leaves the file as it was.
 * @throws MANX_KEY_FILE if another one is at work; MANX_OUTPUT_UNWRITABLE
 */
export async function changeKeyFile(
  path: string,
  change: (keys: readonly KeyRecord[]) => readonly KeyRecord[],
): Promise<void> {
  const lock = `${path}.lock`;
  await takeLock(lock);
  try {
    const keys = change(await readKeyFile(path, true));
    await replaceFile(path, `${JSON.stringify({ version: 1, keys }, null, 2)}\n`);
  } finally {
    await rm(lock, { force: true });
  }
}

async function takeLock(lock: string): Promise<void> {
  try {
    await (await open(lock, "wx", 0o600)).close();
  } catch (thrown) {
    const { code, message } = thrown as NodeJS.ErrnoException;
    if (code !== "EEXIST") throw unwritable(lock, thrown as NodeJS.ErrnoException);
    throw new ManxError("MANX_KEY_FILE", {
      what: "another command is changing the keys",
      where: lock,
      got: message,
      hint: "try again; if no other is running, remove that file",
    });
  }
}
