import { mkdtemp, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { FakeIo } from "../../test/support/fake-io.ts";
import { isManxError } from "../core/index.ts";
import { KeyRing, readKeyFile } from "../gateway/keys/index.ts";
import { makeProgram, runProgram } from "./program.ts";

let folder = "";
let file = "";
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "manx-key-command-"));
  file = join(folder, "keys.json");
});
afterAll(() => rm(folder, { recursive: true }));

async function run(...argv: string[]): Promise<{ code: number; out: string; err: string }> {
  const io = new FakeIo();
  const code = await runProgram(makeProgram(io), ["gateway", "key", ...argv, "--file", file], io);
  return { code, out: io.out, err: io.err };
}

describe("manx gateway key", () => {
  it("makes a key that opens, shows it once, switches it off and on, and removes it", async () => {
    const made = await run(
      "create",
      "--tenant",
      "search",
      "--models",
      "gpt-*, o3",
      "--budget",
      "2000000/day",
    );
    const key = made.out.trim();
    expect([made.code, key]).toEqual([0, expect.stringMatching(/^mk_/)]);
    expect(made.err).not.toContain(key);
    expect(await readFile(file, "utf8")).not.toContain(key);
    const opens = async (): Promise<boolean> => {
      const ring = new KeyRing(await readKeyFile(file));
      return !isManxError(ring.check((name) => (name === "x-api-key" ? key : undefined), 0));
    };
    expect(await opens()).toBe(true);
    const id = key.slice(0, 11);
    expect((await run("list")).out).toBe(`${id}  on   search  gpt-*,o3\n`);
    await run("disable", id);
    expect([await opens(), (await run("list")).out]).toEqual([
      false,
      expect.stringContaining("off"),
    ]);
    // Given whole by mistake, only its public part is looked at, and nothing of it is repeated.
    const enabled = await run("enable", key);
    expect([await opens(), enabled.err.includes(key)]).toEqual([true, false]);
    expect((await run("delete", id)).code).toBe(0);
    expect([await opens(), (await run("list")).out]).toEqual([false, ""]);
  });

  it("keeps limits as they are written, and answers in JSON", async () => {
    const args = [
      "--budget",
      "100usd/month",
      "--budget",
      "5000/day",
      "--rate",
      "60000/m",
      "--concurrency",
      "4",
    ];
    const made = await run(
      "create",
      ...args,
      "--expires",
      "2027-01-31",
      "--priority",
      "0",
      "--warm-up",
      "--json",
    );
    const { id, key } = JSON.parse(made.out) as { id: string; key: string };
    const record = (await readKeyFile(file)).find((one) => one.id === id);
    expect(record).toMatchObject({
      budget: { usdPerMonth: 100, tokensPerDay: 5000, tokensPerMonth: null },
      rate: { tokensPerMinute: 60_000, concurrency: 4 },
      expires: "2027-01-31",
      priority: 0,
      warmUp: true,
    });
    const listed = (await run("list", "--json")).out;
    expect(JSON.parse(listed).keys).toHaveLength(1);
    expect(listed).not.toContain(record!.hash);
    expect(key).toContain(id);
  });

  it.each([
    [["create", "--budget", "5"], "--budget"],
    [["create", "--budget", "0/day"], "--budget"],
    [["create", "--rate", "5/s"], "--rate"],
    [["create", "--tenant", "a b"], "--tenant"],
    [["create", "--expires", "2027-02-31"], "--expires"],
    [["create", "--expires", "tomorrow"], "--expires"],
    [["create", "--priority", "10"], "--priority"],
  ])("refuses %j", async (argv, where) => {
    const { code, err, out } = await run(...argv);
    expect([code, out]).toEqual([2, ""]);
    expect(err).toContain(`at ${where}\n`);
  });

  it("names the key that was meant", async () => {
    const { code, err } = await run("disable", "mk_nothere1");
    expect([code, err]).toEqual([2, expect.stringContaining("MANX_KEY_UNKNOWN")]);
  });
});
