/** The command line's frame, run in-process: help, version, and what a wrong call answers. */
import { describe, expect, it } from "vitest";
import { makeProgram, runProgram } from "../src/cli/program.ts";
import { VERSION } from "../src/version.ts";
import { FakeIo } from "./support/fake-io.ts";

async function manx(...argv: string[]): Promise<{ exit: number; out: string; err: string }> {
  const io = new FakeIo();
  const exit = await runProgram(makeProgram(io), argv, io);
  return { exit, out: io.out, err: io.err };
}

const commands = makeProgram(new FakeIo()).commands;

describe("manx", () => {
  it("prints help on stdout, with each command and an example", async () => {
    const { exit, out, err } = await manx("--help");
    expect([exit, err]).toEqual([0, ""]);
    expect(commands.length).toBeGreaterThan(0);
    for (const command of commands) expect(out).toContain(`\n  ${command.name()}`);
    expect(out).toMatch(/Examples:\n {2}manx /);
    expect((await manx("help")).out).toBe(out);
  });

  it("without arguments prints help too, but as an error: nothing was done", async () => {
    const { exit, out, err } = await manx();
    expect([exit, out]).toEqual([2, ""]);
    expect(err).toContain("Usage: manx");
  });

  it.each(["-V", "--version"])("%s prints the version and nothing else", async (flag) => {
    expect(await manx(flag)).toEqual({ exit: 0, out: `${VERSION}\n`, err: "" });
  });

  it.each([
    ["gatway", 'did you mean "gateway"?'],
    ["GATEWAY", 'did you mean "gateway"?'],
    ["zzzzzzzzz", "run manx --help"],
  ])("%s is no command: %s", async (word, hint) => {
    const { exit, out, err } = await manx(word);
    expect([exit, out]).toEqual([2, ""]);
    expect(err).toContain("error MANX_COMMAND_UNKNOWN: unknown command\n");
    expect(err).toContain(`got "${word}"`);
    expect(err).toContain(`try: ${hint}\n`);
    for (const command of commands) expect(err).toContain(command.name());
  });

  it("names the nearest flag, its own and a command's", async () => {
    const own = await manx("--versoin");
    expect(own.exit).toBe(2);
    expect(own.err).toMatch(/MANX_FLAG_UNKNOWN[\s\S]*at manx\n[\s\S]*--versoin[\s\S]*"--version"/);
    const of = await manx("gateway", "--upstrem", "http://127.0.0.1:1");
    expect(of.exit).toBe(2);
    expect(of.err).toMatch(/MANX_FLAG_UNKNOWN[\s\S]*at manx gateway\n[\s\S]*"--upstream"/);
  });

  it("names the word that is too much, and not a flag's value before it", async () => {
    const { exit, err } = await manx(
      "gateway",
      "--upstream",
      "http://127.0.0.1:1",
      "--hedge",
      "yes",
    );
    expect(exit).toBe(2);
    expect(err).toMatch(/MANX_COMMAND_UNKNOWN[\s\S]*at manx gateway\n[\s\S]*got "yes"\n/);
  });

  it("says which flag is missing or lacks its value", async () => {
    const missing = await manx("gateway");
    expect(missing.exit).toBe(2);
    expect(missing.err).toMatch(/MANX_FLAG_MISSING[\s\S]*--upstream/);
    const bare = await manx("gateway", "--upstream");
    expect(bare.exit).toBe(2);
    expect(bare.err).toMatch(/MANX_FLAG_(MISSING|VALUE)[\s\S]*--upstream/);
  });

  it("refuses a bare number where a unit is needed, and a number out of range", async () => {
    const upstream = ["gateway", "--upstream", "http://127.0.0.1:1"];
    const bare = await manx(...upstream, "--idle", "120");
    expect([bare.exit, bare.out]).toEqual([2, ""]);
    expect(bare.err).toMatch(/MANX_DURATION[\s\S]*at --idle\n[\s\S]*"120"[\s\S]*"800ms"/);
    const range = await manx(...upstream, "--port", "80000");
    expect(range.err).toMatch(/MANX_FLAG_VALUE[\s\S]*--port[\s\S]*"80000"/);
    expect(range.exit).toBe(2);
  });
});

describe("each command", () => {
  it.each(commands.map((command) => command.name()))(
    "%s has help with an example",
    async (name) => {
      const { exit, out, err } = await manx(name, "--help");
      expect([exit, err]).toEqual([0, ""]);
      expect(out).toContain(`Usage: manx ${name}`);
      expect(out).toMatch(new RegExp(`Examples?:\\n {2}.*manx ${name}`));
    },
  );

  it("describes itself and each of its flags in a sentence", () => {
    for (const command of commands) {
      expect(command.description(), command.name()).not.toBe("");
      for (const option of command.options) {
        expect(option.description, `${command.name()} ${option.flags}`).not.toBe("");
      }
    }
  });
});
