import { mkdtemp, readFile, rename, rm, stat, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { SimClock } from "../../clock/index.ts";
import { type ManxError, US_PER_S } from "../../core/index.ts";
import { BudgetKeeper, BudgetLedger } from "./index.ts";

let folder: string;
let keys: string;
let spent: string;

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), "manx-spent-"));
  keys = join(folder, "keys.json");
  spent = `${keys}.spent.json`;
});
afterEach(() => rm(folder, { recursive: true, force: true }));

function keeper(clock = new SimClock()) {
  const ledger = new BudgetLedger(null);
  const failures: ManxError[] = [];
  const store = new BudgetKeeper({ ledger, clock, onFailure: (error) => failures.push(error) });
  const spend = (keyId: string, tokens: number): void =>
    ledger.add([{ keyId, tokens, microUsd: tokens * 2 }], clock.wallMs());
  const tokens = (keyId: string): number => ledger.spentBy(keyId, clock.wallMs()).month.tokens;
  return { ledger, store, clock, failures, spend, tokens };
}

/** Writing is real; time is not. */
/** That much later, and what was begun by then is on the disk. */
async function afterSeconds(
  { clock, store }: { clock: SimClock; store: BudgetKeeper },
  seconds: number,
): Promise<void> {
  await clock.run(clock.nowUs() + seconds * US_PER_S);
  await store.written();
}

describe("what keys have spent", () => {
  it("is there after a restart, for the gateway's own eyes, and nothing is left beside it", async () => {
    const first = keeper();
    await first.store.follow(keys);
    first.spend("a", 70);
    await first.store.close();
    expect((await stat(spent)).mode & 0o777).toBe(0o600);
    const second = keeper();
    await second.store.follow(keys);
    expect([second.tokens("a"), second.tokens("b")]).toEqual([70, 0]);
    second.spend("a", 5);
    await second.store.close();
    expect(JSON.parse(await readFile(spent, "utf8"))).toMatchObject({
      version: 1,
      accounts: { a: { month: { tokens: 75, microUsd: 150 } } },
    });
  });

  it("is written within two seconds, and only if there is something new", async () => {
    const { store, clock, spend } = keeper();
    await store.follow(keys);
    await afterSeconds({ clock, store }, 3);
    await expect(stat(spent)).rejects.toMatchObject({ code: "ENOENT" });
    spend("a", 1);
    await afterSeconds({ clock, store }, 2);
    const { ino } = await stat(spent);
    await afterSeconds({ clock, store }, 10);
    expect((await stat(spent)).ino).toBe(ino);
    await store.close();
  });

  it("follows its keys to another file, where what stands there counts too", async () => {
    const other = join(folder, "other.json");
    const before = keeper();
    await before.store.follow(other);
    before.spend("b", 30);
    await before.store.close();
    const { store, spend, tokens } = keeper();
    await store.follow(keys);
    spend("a", 70);
    await store.follow(other);
    expect([tokens("a"), tokens("b")]).toEqual([70, 30]);
    await store.close();
    const kept = JSON.parse(await readFile(`${other}.spent.json`, "utf8"));
    expect(Object.keys(kept.accounts).sort()).toEqual(["a", "b"]);
  });

  it.each([
    ["", "JSON"],
    ['{"version":1,"accounts":{"a":{"day"', "JSON"],
    ['{"version":2,"accounts":{}}', "version"],
    ['{"version":1,"accounts":{"a":{"day":{"number":1,"tokens":-5,"microUsd":0}}}}', "accounts.a"],
  ])(
    "is an error that names the file if it reads %j, and no budget begins anew",
    async (text, at) => {
      await writeFile(spent, text);
      const error = await keeper()
        .store.follow(keys)
        .catch((thrown: unknown) => thrown);
      expect(error).toMatchObject({ code: "MANX_SPENT_FILE" });
      const { where, expected } = error as ManxError;
      expect(`${where} ${expected}`).toContain(spent);
      expect(`${where} ${expected}`).toContain(at);
      expect(await readFile(spent, "utf8")).toBe(text);
    },
  );

  it("that cannot be written is told once, and is written when it can be", async () => {
    const { store, clock, spend, failures } = keeper();
    await store.follow(keys);
    await rename(folder, `${folder}-away`);
    spend("a", 1);
    await afterSeconds({ clock, store }, 2);
    await afterSeconds({ clock, store }, 2);
    await rename(`${folder}-away`, folder);
    expect(failures.map(({ code }) => code)).toEqual(["MANX_OUTPUT_UNWRITABLE"]);
    await afterSeconds({ clock, store }, 2);
    expect(JSON.parse(await readFile(spent, "utf8")).accounts.a.day.tokens).toBe(1);
    await store.close();
  });
});

describe("a ledger of several", () => {
  it("tells each spending once, and adds those of others without telling them on", () => {
    const [a, b] = [new BudgetLedger(null), new BudgetLedger(null)];
    const reservation = { keyId: "k", model: "m", tokens: 9, microUsd: 0 };
    const used = { inputTokens: 4, outputTokens: 3, cachedTokens: 0 };
    a.settle(reservation, used, 0);
    a.settle(reservation, used, 0);
    b.add(a.takeFresh(), 0);
    expect([a.takeFresh(), b.takeFresh()]).toEqual([[], []]);
    expect(b.spentBy("k", 0)).toEqual(a.spentBy("k", 0));
    expect(b.spentBy("k", 0).day.tokens).toBe(14);
  });
});
