/** `manx trace show`: turns from a file, drawn phase by phase with their critical path. */
import type { Command } from "commander";
import { ManxError } from "../core/index.ts";
import type { TurnRecord } from "../trace/index.ts";
import { readInput } from "./input-file.ts";
import type { Io } from "./io.ts";
import { terminalOptions } from "./terminal-options.ts";

interface ShowFlags {
  readonly turn?: string;
  readonly json?: true;
}

const BYTES_MAX = 256 * 1024 * 1024;
/** More are counted, not drawn. */
const TURNS_DRAWN_MAX = 5;

export function addTraceCommand(program: Command, io: Io): void {
  const trace = program
    .command("trace")
    .description("Turns of agents: where their time went.")
    .addHelpText("after", "\nExample:\n  manx trace show turn.json\n");
  trace
    .command("show")
    .description("Draw the turns of a file: phases, spans, critical path, and what is not known.")
    .argument(
      "<file>",
      "turn document or OTLP/JSON, one or a line each, plain or gzipped; - is stdin",
    )
    .option("--turn <id>", "only the turn whose trace id begins so")
    .option("--json", "one turn document a line instead of drawings")
    .addHelpText(
      "after",
      "\nExamples:\n  manx trace show turn.json\n" +
        "  manx trace show spans.otlp.json --turn 5b8e\n" +
        "  manx trace show spans.otlp.json --json > turns.jsonl\n",
    )
    .action((file: string, flags: ShowFlags) => showTrace(file, flags, io));
}

async function showTrace(file: string, flags: ShowFlags, io: Io): Promise<void> {
  const where = file === "-" ? "standard input" : file;
  const { readTurnFile } = await import("../trace/document/index.ts");
  const { turns, notes } = readTurnFile(await readInput(file, BYTES_MAX), where);
  for (const note of notes) io.stderr.write(`${note}\n`);
  const wanted = turns.filter(({ id }) => id.startsWith(flags.turn ?? ""));
  if (wanted.length === 0) throw noTurn(where, flags, turns);
  if (flags.json === true) {
    for (const turn of wanted) io.stdout.write(`${JSON.stringify(turn)}\n`);
    return;
  }
  const { renderTurn } = await import("../report/index.ts");
  const drawn = wanted.slice(0, TURNS_DRAWN_MAX);
  io.stdout.write(drawn.map((turn) => renderTurn(turn, terminalOptions(io))).join("\n"));
  const more = wanted.length - drawn.length;
  if (more > 0) io.stderr.write(`${more} more turns; choose one with --turn\n`);
}

const IDS_SHOWN = 5;

function noTurn(where: string, { turn }: ShowFlags, turns: readonly TurnRecord[]): ManxError {
  if (turn === undefined) {
    return new ManxError("MANX_TRACE_FORMAT", {
      what: "a file without a turn",
      where,
      expected: "at least one span",
      got: "none that could be read",
      hint: "give a turn document of Manx or an OTLP/JSON export",
    });
  }
  const ids = turns.slice(0, IDS_SHOWN).map(({ id }) => id);
  return new ManxError("MANX_FLAG_VALUE", {
    what: "no turn has this id",
    where: "manx trace show --turn",
    expected: `the beginning of one of ${ids.join(", ")}${turns.length > IDS_SHOWN ? ", …" : ""}`,
    got: JSON.stringify(turn),
  });
}
