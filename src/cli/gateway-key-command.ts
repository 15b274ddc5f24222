/** `manx gateway key`: makes, lists, switches off and removes the virtual keys of a key file. */
import type { Command } from "commander";
import { isoTime, secretBytes } from "../clock/index.ts";
import { ManxError, nearestName } from "../core/index.ts";
import type { KeyRecord } from "../gateway/keys/index.ts";
import { parseCount } from "./flag-values.ts";
import type { Io } from "./io.ts";

const FILE = "manx.keys.json";

interface FileFlags {
  readonly file: string;
  readonly json?: true;
}

interface CreateFlags extends FileFlags {
  readonly tenant: string;
  readonly note?: string;
  readonly models?: string;
  readonly priority: string;
  readonly expires?: string;
  readonly budget: readonly string[];
  readonly rate?: string;
  readonly concurrency?: string;
  readonly warmUp?: true;
}

export function addGatewayKeyCommand(gateway: Command, io: Io): void {
  const key = gateway
    .command("key")
    .description("Make and manage keys for callers; the gateway reads the file again by itself.")
    .addHelpText("after", "\nExample:\n  manx gateway key create --tenant search\n");
  withFile(key.command("create"))
    .description("Make a key and print it, once: the file holds only its hash.")
    .option("--tenant <name>", "whose limits and fair share count", "default")
    .option("--note <text>", "what it is for")
    .option(
      "--models <names>",
      'models that it may use, such as "gpt-*,claude-haiku"; default: all',
    )
    .option("--priority <number>", "0 to 9; 0 is served first", "1")
    .option("--expires <date>", "first UTC instant at which it is invalid, such as 2027-01-31")
    .option("--budget <amount>", BUDGET_HELP, collect, [])
    .option("--rate <tokens>", "tokens a minute, prompts and answers, such as 100000/m")
    .option("--concurrency <count>", "most requests in flight")
    .option("--warm-up", "may mark calls as warm-up, which are in no percentile")
    .addHelpText(
      "after",
      "\nExamples:\n  manx gateway key create --tenant search --models 'gpt-*' --budget 2000000/day\n" +
        "  manx gateway key create --budget 100usd/month --rate 60000/m --expires 2027-01-31\n",
    )
    .action((flags: CreateFlags) => create(flags, io));
  withFile(key.command("list"))
    .description("Show the keys that there are; none can be read out of the file.")
    .addHelpText("after", "\nExample:\n  manx gateway key list --json\n")
    .action((flags: FileFlags) => list(flags, io));
  for (const [name, disabled, words] of [
    ["disable", true, "Switch a key off, for the time being."],
    ["enable", false, "Switch a key on again."],
  ] as const) {
    withFile(key.command(name).argument("<id>", "mk_ and eight characters, as list shows it"))
      .description(words)
      .addHelpText("after", `\nExample:\n  manx gateway key ${name} mk_Ab3dE5gH\n`)
      .action((id: string, flags: FileFlags) =>
        change(flags, io, id, (keys, at) =>
          keys.map((one, i) => (i === at ? { ...one, disabled } : one)),
        ),
      );
  }
  withFile(key.command("delete").argument("<id>", "mk_ and eight characters, as list shows it"))
    .description("Remove a key for good.")
    .addHelpText("after", "\nExample:\n  manx gateway key delete mk_Ab3dE5gH\n")
    .action((id: string, flags: FileFlags) =>
      change(flags, io, id, (keys, at) => keys.filter((_, i) => i !== at)),
    );
}

const BUDGET_HELP = "such as 2000000/day (tokens) or 100usd/month; may be given several times";

function withFile(command: Command): Command {
  return command
    .option("--file <path>", "file of keys; gateway.keys.path names it", FILE)
    .option("--json", "print one JSON object");
}

function collect(one: string, all: readonly string[]): readonly string[] {
  return [...all, one];
}

async function create(flags: CreateFlags, io: Io): Promise<void> {
  const { changeKeyFile, keyRecordSchema, newKey } = await import("../gateway/keys/index.ts");
  const { key, id, hash } = newKey(secretBytes);
  const written = {
    id,
    hash,
    tenant: flags.tenant,
    note: flags.note ?? "",
    models: flags.models?.split(",").map((name) => name.trim()) ?? null,
    priority: parseCount(flags.priority, "--priority", 0, 9),
    warmUp: flags.warmUp === true,
    created: isoTime(io.clock.wallMs()),
    expires: flags.expires ?? null,
    budget: Object.assign({}, ...flags.budget.map(readBudget)),
    rate: {
      concurrency: maybeCount(flags.concurrency, "--concurrency"),
      tokensPerMinute: flags.rate === undefined ? null : readRate(flags.rate),
    },
  };
  const checked = keyRecordSchema.safeParse(written);
  if (!checked.success) throw await flagError(checked.error.issues[0]!);
  await changeKeyFile(flags.file, (keys) => [...keys, checked.data]);
  if (flags.json === true) {
    io.stdout.write(`${JSON.stringify({ key, id, file: flags.file })}\n`);
    return;
  }
  io.stdout.write(`${key}\n`);
  io.stderr.write(
    `key: written to ${flags.file} as a hash; this is the only time that it is shown\n`,
  );
}

async function flagError(issue: { readonly path: readonly PropertyKey[] }): Promise<ManxError> {
  const { issueText } = await import("../config/index.ts");
  const where = `--${String(issue.path[0] ?? "tenant")}`;
  return new ManxError("MANX_FLAG_VALUE", {
    where,
    expected: issueText(issue as Parameters<typeof issueText>[0]),
  });
}

async function list(flags: FileFlags, io: Io): Promise<void> {
  const { readKeyFile } = await import("../gateway/keys/index.ts");
  const keys = await readKeyFile(flags.file);
  if (flags.json === true) {
    // The hash proves nothing, but nobody needs it either.
    const shown = keys.map(({ hash: _, ...rest }) => rest);
    io.stdout.write(`${JSON.stringify({ file: flags.file, keys: shown })}\n`);
    return;
  }
  for (const key of keys) io.stdout.write(`${keyLine(key)}\n`);
  if (keys.length === 0) io.stderr.write(`key: ${flags.file} has none\n`);
}

function keyLine({ id, tenant, models, disabled, expires, note }: KeyRecord): string {
  const parts = [
    `mk_${id}`,
    disabled ? "off" : "on ",
    tenant,
    models === null ? "all models" : models.join(","),
    ...(expires === null ? [] : [`until ${expires}`]),
    ...(note === "" ? [] : [note]),
  ];
  return parts.join("  ");
}

async function change(
  flags: FileFlags,
  io: Io,
  name: string,
  edit: (keys: readonly KeyRecord[], at: number) => readonly KeyRecord[],
): Promise<void> {
  const { changeKeyFile } = await import("../gateway/keys/index.ts");
  // A whole key on the command line would stand in the shell's history; its public part is enough.
  const id = name.replace(/^mk_/, "").slice(0, 8);
  await changeKeyFile(flags.file, (keys) => {
    const at = keys.findIndex((one) => one.id === id);
    if (at >= 0) return edit(keys, at);
    const near = nearestName(
      id,
      keys.map((one) => one.id),
    );
    throw new ManxError("MANX_KEY_UNKNOWN", {
      where: flags.file,
      got: JSON.stringify(`mk_${id}`),
      ...(near !== undefined && { hint: `did you mean "mk_${near}"?` }),
    });
  });
  if (flags.json === true) io.stdout.write(`${JSON.stringify({ id, file: flags.file })}\n`);
  else io.stderr.write(`key: mk_${id} is changed in ${flags.file}\n`);
}

/** `2000000/day` → tokensPerDay; `100usd/month` → usdPerMonth. */
function readBudget(text: string): Record<string, number> {
  const match = /^(\d+(?:\.\d+)?)\s*(usd|tokens)?\s*\/\s*(day|month)$/i.exec(text.trim());
  const [, amount = "", unit = "tokens", period = ""] = match ?? [];
  const value = Number(amount);
  const isMoney = unit.toLowerCase() === "usd";
  if (match === null || value <= 0 || (!isMoney && !Number.isSafeInteger(value))) {
    throw new ManxError("MANX_FLAG_VALUE", {
      where: "--budget",
      expected: 'tokens or USD above zero a day or month, such as "2000000/day" or "100usd/month"',
      got: JSON.stringify(text),
    });
  }
  const name = `${isMoney ? "usd" : "tokens"}Per${period.toLowerCase() === "day" ? "Day" : "Month"}`;
  return { [name]: value };
}

function readRate(text: string): number {
  const match = /^(\d+)\s*\/\s*(m|min|minute)$/i.exec(text.trim());
  const value = Number(match?.[1] ?? Number.NaN);
  if (Number.isSafeInteger(value) && value > 0) return value;
  throw new ManxError("MANX_FLAG_VALUE", {
    where: "--rate",
    expected: 'tokens a minute, such as "60000/m"',
    got: JSON.stringify(text),
  });
}

function maybeCount(text: string | undefined, where: string): number | null {
  return text === undefined ? null : parseCount(text, where, 1, 1_000_000);
}
