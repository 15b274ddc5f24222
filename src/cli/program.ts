/**
 * The command table. Each command's file is small and loads what it runs only when it runs, so that `--help` stays fast.
 * A command ends otherwise than well by throwing a ManxError, after it has written its result; the error's code decides
 * the exit code: 1 internal or of another system, 2 usage, 3 a check that has failed, 4 not trustworthy, 130
 * interrupted.
 */
import { Command, CommanderError } from "commander";
import { ManxError, nearestName, renderError, toManxError } from "../core/index.ts";
import { VERSION } from "../version.ts";
import { addConfigCommand } from "./config-command.ts";
import { addDemoCommand } from "./demo-command.ts";
import { addEngineCommand } from "./engine-command.ts";
import { addGatewayCommand } from "./gateway-command.ts";
import type { Io } from "./io.ts";
import { addLintPromptCommand } from "./lint-prompt-command.ts";
import { addLoadCommand } from "./load-command.ts";
import { addPrecompileCommand } from "./precompile-command.ts";
import { addReportCommand } from "./report-command.ts";
import { addTraceCommand } from "./trace-command.ts";

export function makeProgram(io: Io): Command {
  const program = new Command("manx")
    .description(
      "Takes the tail off LLM agents: measure it, explain it, cut it, guard it, prove it.",
    )
    .version(VERSION, "-V, --version", "print the version")
    .showSuggestionAfterError(false)
    // A flag after a command's name is that command's own.
    .enablePositionalOptions()
    .helpCommand("help [command]", "show help of a command")
    .configureOutput({
      writeOut: (text) => io.stdout.write(text),
      writeErr: (text) => io.stderr.write(text),
      // Errors are rendered once, in `runProgram`, in Manx's own four lines.
      outputError: () => undefined,
    })
    .addHelpText("after", "\nExamples:\n  manx demo\n  manx demo --json > result.json\n");
  addDemoCommand(program, io);
  addEngineCommand(program, io);
  addGatewayCommand(program, io);
  addLoadCommand(program, io);
  addReportCommand(program, io);
  addTraceCommand(program, io);
  addPrecompileCommand(program, io);
  addLintPromptCommand(program, io);
  addConfigCommand(program, io);
  return program;
}

/** Parses and runs. Answers the exit code; never throws. */
export async function runProgram(
  program: Command,
  argv: readonly string[],
  io: Io,
): Promise<number> {
  forEachCommand(program, (command) => {
    command.exitOverride();
    command.copyInheritedSettings(program);
  });
  try {
    await program.parseAsync(argv, { from: "user" });
    return 0;
  } catch (thrown) {
    if (thrown instanceof CommanderError && thrown.exitCode === 0) return 0;
    const error =
      thrown instanceof CommanderError ? usageError(thrown, program, argv) : toManxError(thrown);
    io.stderr.write(`${renderError(error)}\n`);
    if (error.code === "MANX_INTERNAL" && error.cause instanceof Error) {
      io.stderr.write(`${error.cause.stack ?? ""}\n`);
    }
    return error.exit;
  }
}

function forEachCommand(command: Command, visit: (command: Command) => void): void {
  // The parent first: its settings are what the children copy.
  visit(command);
  for (const child of command.commands) forEachCommand(child, visit);
}

/** Commander's own errors in Manx's words, with the nearest name that exists. */
function usageError(thrown: CommanderError, program: Command, argv: readonly string[]): ManxError {
  const got = /'([^']*)'/.exec(thrown.message)?.[1] ?? "";
  const { command, where } = commandOf(program, argv);
  if (thrown.code === "commander.unknownOption") {
    const flags = command.options.map((option) => option.long ?? option.short ?? "");
    return new ManxError("MANX_FLAG_UNKNOWN", { where, got, ...nearestHint(got, flags) });
  }
  const isWord =
    thrown.code === "commander.unknownCommand" || thrown.code === "commander.excessArguments";
  if (isWord && command.commands.length > 0) {
    const names = command.commands.map((child) => child.name());
    // What is left when each flag has its value: of the words as they stand, one may be such a value.
    const word = command.args.find((arg) => !arg.startsWith("-")) ?? got;
    return new ManxError("MANX_COMMAND_UNKNOWN", {
      ...(command !== program && { where }),
      expected: `one of ${names.join(", ")}`,
      got: JSON.stringify(word),
      ...nearestHint(word, names),
    });
  }
  const missing = /missing|not specified/i.test(thrown.message);
  return new ManxError(missing ? "MANX_FLAG_MISSING" : "MANX_FLAG_VALUE", {
    what: thrown.message.replace(/^error: /, "").replace(/\.$/, ""),
    where,
    hint: `run ${where} --help`,
  });
}

/** The innermost command that the words name. */
function commandOf(program: Command, argv: readonly string[]): { command: Command; where: string } {
  let command = program;
  let where = "manx";
  for (const word of argv) {
    const child = command.commands.find((one) => one.name() === word);
    if (child === undefined) continue;
    command = child;
    where += ` ${word}`;
  }
  return { command, where };
}

function nearestHint(got: string, names: readonly string[]): { hint?: string } {
  const near = nearestName(got, names);
  return near === undefined ? {} : { hint: `did you mean "${near}"?` };
}
