/** What keys have spent, on disk between two runs of the gateway: JSON beside the key file, replaced as a whole. */
import { z } from "zod";
import { issueText, readTextFile } from "../../config/index.ts";
import { ManxError } from "../../core/index.ts";
import type { LedgerState } from "./budget-ledger.ts";
import { replaceFile } from "./replace-file.ts";

const BYTES_MAX = 64 * 2 ** 20;

const count = z.number().nonnegative();
const period = z.strictObject({ number: z.int().nonnegative(), tokens: count, microUsd: count });
const fileSchema = z.strictObject({
  version: z.literal(1),
  accounts: z.record(z.string().min(1).max(100), z.strictObject({ day: period, month: period })),
});

/** Where it stands for a file of keys. */
export function spentPath(keysPath: string): string {
  return `${keysPath}.spent.json`;
}

/**
 * @returns nothing spent, if there is no such file.
 * @throws MANX_FILE_UNREADABLE, MANX_SPENT_FILE: a budget must not begin anew because a disk was full.
 */
export async function readSpentFile(path: string): Promise<LedgerState> {
  let text: string;
  try {
    text = await readTextFile(path, BYTES_MAX);
  } catch (thrown) {
    const { cause } = thrown as { cause?: NodeJS.ErrnoException };
    if (cause?.code === "ENOENT") return { accounts: {} };
    throw thrown;
  }
  const checked = fileSchema.safeParse(parse(path, text));
  if (checked.success) return { accounts: checked.data.accounts };
  const issue = checked.error.issues[0]!;
  const where = `${path}: ${issue.path.map(String).join(".")}`;
  throw new ManxError("MANX_SPENT_FILE", { where, expected: issueText(issue) });
}

function parse(where: string, text: string): unknown {
  try {
    return JSON.parse(text);
  } catch (cause) {
    const got = text === "" ? "an empty file" : "something else";
    throw new ManxError("MANX_SPENT_FILE", { where, expected: "JSON", got, cause });
  }
}

/** @throws MANX_OUTPUT_UNWRITABLE */
export async function writeSpentFile(path: string, { accounts }: LedgerState): Promise<void> {
  await replaceFile(path, `${JSON.stringify({ version: 1, accounts })}\n`);
}
