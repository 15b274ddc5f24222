import { mkdtemp, readdir, readFile, rm, stat, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import fc from "fast-check";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { secretBytes } from "../../clock/index.ts";
import { isManxError, ManxError } from "../../core/index.ts";
import {
  BudgetLedger,
  carriesKey,
  changeKeyFile,
  type KeyHolder,
  type KeyRecord,
  KeyRing,
  keyRecordSchema,
  newKey,
  type Reservation,
  readKeyFile,
  refusedModel,
} from "./index.ts";

const NOON_MS = Date.UTC(2026, 10, 29, 12);
const DAY_MS = 86_400_000;

interface Made {
  readonly key: string;
  readonly record: KeyRecord;
}

function make(fields: object = {}): Made {
  const { key, id, hash } = newKey(secretBytes);
  return { key, record: keyRecordSchema.parse({ id, hash, ...fields }) };
}

function headers(values: Record<string, string>): (name: string) => string | undefined {
  return (name) => values[name];
}

describe("a virtual key", () => {
  it("is told apart from others, has one form, and is kept by its hash alone", () => {
    const keys = Array.from({ length: 200 }, () => newKey(secretBytes));
    expect(new Set(keys.map((one) => one.id)).size).toBe(200);
    for (const { key, id, hash } of keys) {
      expect(key).toMatch(/^mk_[A-Za-z0-9]{8}_[\w-]{43}$/);
      expect(key.slice(3, 11)).toBe(id);
      expect(hash).toMatch(/^[0-9a-f]{64}$/);
    }
    const letters = keys.map((one) => one.id).join("");
    // Each of 62 letters about 26 times among 1,600; a bias of the first 8 would give them 33.
    expect(new Set(letters).size).toBe(62);
  });

  it("opens in each header that clients use, and nothing else opens", () => {
    const good = make({ tenant: "search", priority: 0, models: ["gpt-*"] });
    const ring = new KeyRing([good.record, make().record]);
    for (const [name, value] of [
      ["authorization", `Bearer ${good.key}`],
      ["authorization", `bearer  ${good.key} `],
      ["x-api-key", good.key],
      ["api-key", good.key],
    ] as const) {
      const holder = ring.check(headers({ [name]: value, other: "x" }), NOON_MS);
      expect(holder).toMatchObject({ keyId: good.record.id, tenant: "search", priority: 0 });
    }
    const both = {
      authorization: `Bearer ${good.key}`,
      "x-api-key": "sk-the-client-sends-one-always",
    };
    expect(isManxError(ring.check(headers(both), NOON_MS))).toBe(false);
    const other = make();
    const lastChanged = good.key.slice(0, -1) + (good.key.endsWith("A") ? "B" : "A");
    for (const values of [
      {},
      { authorization: "" },
      { authorization: `Basic ${good.key}` },
      { "x-api-key": other.key },
      { "x-api-key": lastChanged },
      { "x-api-key": good.key.slice(0, 11) },
      { "x-api-key": `mk_${good.record.id}_${other.key.slice(12)}` },
      { "x-api-key": good.record.hash },
      { "x-api-key": good.key, authorization: `Bearer ${other.key}` },
    ]) {
      const refused = ring.check(headers(values as Record<string, string>), NOON_MS) as ManxError;
      expect([refused.code, refused.status]).toEqual(["MANX_UNAUTHENTICATED", 401]);
      const text = JSON.stringify(refused);
      expect(text).not.toContain(good.key.slice(12));
      expect(text).not.toContain(good.record.hash);
    }
  });

  it("is drawn evenly: bytes that would favour some letters are not used", () => {
    const bytes = [248, 255, 0, 250, 61, 62, 247, ...Array.from({ length: 40 }, () => 1)];
    const { id } = newKey((count) => Uint8Array.from(bytes.splice(0, count)));
    expect(id).toBe("A9A9BBBB");
  });

  it("beside another good one opens nothing: which of the two would be counted?", () => {
    const [one, other] = [make(), make()];
    const ring = new KeyRing([one.record, other.record]);
    const both = { authorization: `Bearer ${one.key}`, "x-api-key": other.key };
    expect(ring.check(headers(both), NOON_MS)).toMatchObject({ code: "MANX_UNAUTHENTICATED" });
    const same = { authorization: `Bearer ${one.key}`, "x-api-key": one.key };
    expect(ring.check(headers(same), NOON_MS)).toMatchObject({ keyId: one.record.id });
  });

  it("never opens with a changed character", () => {
    const { key, record } = make();
    const ring = new KeyRing([record]);
    fc.assert(
      fc.property(
        fc.nat(key.length - 1),
        fc.string({ minLength: 1, maxLength: 1 }),
        (at, letter) => {
          const changed = key.slice(0, at) + letter + key.slice(at + 1);
          const isOpen = !isManxError(ring.check(headers({ "x-api-key": changed }), NOON_MS));
          expect(isOpen).toBe(changed === key);
        },
      ),
    );
  });

  it("is refused once it has expired or is switched off, and says which key", () => {
    const { key, record } = make({ expires: "2026-11-29T12:00Z" });
    const off = make({ disabled: true });
    const ring = new KeyRing([record, off.record]);
    const check = (one: string, ms: number) => ring.check(headers({ "x-api-key": one }), ms);
    expect(isManxError(check(key, NOON_MS - 1))).toBe(false);
    expect(check(key, NOON_MS)).toMatchObject({
      code: "MANX_UNAUTHENTICATED",
      message: expect.stringContaining(record.id),
    });
    expect(check(off.key, NOON_MS)).toMatchObject({ code: "MANX_FORBIDDEN", status: 403 });
  });

  it("may be bound to models, and queues as a tenant of its own if it has a rate", () => {
    const bound = make({ models: ["gpt-*", "o3"], tenant: "a" });
    const rated = make({ tenant: "a", rate: { tokensPerMinute: 5, concurrency: 2 } });
    const ring = new KeyRing([bound.record, rated.record]);
    const holder = ring.check(headers({ "x-api-key": bound.key }), 0) as KeyHolder;
    const refusals = ["gpt-5", "o3", "o3-mini", "claude"].map(
      (one) => refusedModel(holder, one)?.code,
    );
    expect(refusals).toEqual([undefined, undefined, "MANX_FORBIDDEN", "MANX_FORBIDDEN"]);
    expect(holder.admissionTenant).toBe("a");
    const name = `a/${rated.record.id}`;
    expect(ring.admissionTenants()).toEqual({ [name]: { concurrencyMax: 2, tokensPerMinute: 5 } });
    expect(ring.check(headers({ "x-api-key": rated.key }), 0)).toMatchObject({
      admissionTenant: name,
    });
  });

  it("is recognised in a header, so that it can be kept from going on", () => {
    const values = ["mk_x", "Bearer mk_x", " bearer  mk_", "sk-x", "Bearer sk-mk_x", ""];
    expect(values.map(carriesKey)).toEqual([true, true, true, false, false, false]);
  });
});

describe("a budget", () => {
  const PRICES = { asOf: "2026-11-29", models: { m: { input: 2, cached: 0.5, output: 10 } } };
  function holder(budget: object): KeyHolder {
    const { key, record } = make({ budget });
    return new KeyRing([record]).check(headers({ "x-api-key": key }), NOON_MS) as KeyHolder;
  }
  const used = (inputTokens: number, outputTokens: number, cachedTokens = 0) => ({
    inputTokens,
    cachedTokens,
    outputTokens,
  });
  const demand = (inputTokens: number, outputTokens = 0) => ({
    model: "m",
    inputTokens,
    outputTokens,
  });

  it("is spent by what calls use, per UTC day and month, and comes back with the next", () => {
    const ledger = new BudgetLedger(null);
    const who = holder({ tokensPerDay: 100, tokensPerMonth: 150 });
    const first = ledger.reserve(who, demand(60, 40), NOON_MS) as Reservation;
    const refused = ledger.reserve(who, demand(1), NOON_MS) as ManxError;
    expect([refused.code, refused.status, refused.expected]).toEqual([
      "MANX_BUDGET_SPENT",
      429,
      "at most 100 tokens a day",
    ]);
    expect(refused.details?.retryAfterUs).toBe((DAY_MS / 2) * 1_000);
    ledger.settle(first, used(60, 10), NOON_MS);
    expect(isManxError(ledger.reserve(who, demand(31), NOON_MS))).toBe(true);
    const second = ledger.reserve(who, demand(30), NOON_MS) as Reservation;
    ledger.settle(second, used(30, 0), NOON_MS);
    // The next day has 100 again, but the month only 50.
    const nextDay = NOON_MS + DAY_MS;
    expect((ledger.reserve(who, demand(51), nextDay) as ManxError).expected).toBe(
      "at most 150 tokens a month",
    );
    expect(isManxError(ledger.reserve(who, demand(50), nextDay))).toBe(false);
    expect(ledger.spentBy(who.keyId, nextDay)).toEqual({
      day: { tokens: 0, usd: 0 },
      month: { tokens: 100, usd: 0 },
    });
    const december = Date.UTC(2026, 11, 1);
    expect(ledger.spentBy(who.keyId, december).month.tokens).toBe(0);
    // Set back, the clock opens no old day again.
    const last = ledger.reserve(who, demand(20), december) as Reservation;
    ledger.settle(last, used(40, 0), december);
    expect(ledger.spentBy(who.keyId, NOON_MS)).toEqual(ledger.spentBy(who.keyId, december));
    // 40 spent and 50 reserved by the call that is still open.
    expect(isManxError(ledger.reserve(who, demand(11), NOON_MS))).toBe(true);
    expect(isManxError(ledger.reserve(who, demand(10), NOON_MS))).toBe(false);
  });

  it("counts money by a table of prices, cached prompts cheaper, and refuses a model without one", () => {
    const ledger = new BudgetLedger(PRICES);
    const who = holder({ usdPerDay: 0.01 });
    const one = ledger.reserve(who, demand(1_000, 100), NOON_MS) as Reservation;
    ledger.settle(one, used(1_000, 100, 800), NOON_MS);
    // 200 x 2 + 800 x 0.5 + 100 x 10 = 1,800 millionths.
    expect(ledger.spentBy(who.keyId, NOON_MS).day).toEqual({ tokens: 1_100, usd: 0.0018 });
    const dear = ledger.reserve(who, demand(1_000, 700), NOON_MS) as ManxError;
    expect([dear.code, dear.expected]).toEqual(["MANX_BUDGET_SPENT", "at most 0.01 USD a day"]);
    const unknown = ledger.reserve(who, { ...demand(1), model: "toString" }, NOON_MS);
    expect(unknown).toMatchObject({ code: "MANX_FORBIDDEN", where: "model" });
    expect(isManxError(ledger.reserve(holder({}), { ...demand(1), model: "x" }, NOON_MS))).toBe(
      false,
    );
  });

  it("is never passed by calls that stay within their limits, whatever their order, and is kept over a restart", () => {
    const call = fc.record({
      input: fc.nat(40),
      limit: fc.nat(40),
      share: fc.double({ min: 0, max: 1, noNaN: true }),
      wait: fc.nat(3),
    });
    fc.assert(
      fc.property(fc.array(call, { maxLength: 40 }), (calls) => {
        const who = holder({ tokensPerDay: 200 });
        let ledger = new BudgetLedger(null);
        const open: { reservation: Reservation; ends: number; output: number; input: number }[] =
          [];
        let total = 0;
        for (const [index, { input, limit, share, wait }] of calls.entries()) {
          for (const one of open.filter((each) => each.ends <= index)) {
            ledger.settle(one.reservation, used(one.input, one.output), NOON_MS);
            total += one.input + one.output;
            open.splice(open.indexOf(one), 1);
          }
          const reservation = ledger.reserve(who, demand(input, limit), NOON_MS);
          if (isManxError(reservation)) continue;
          open.push({
            reservation,
            ends: index + 1 + wait,
            input,
            output: Math.floor(limit * share),
          });
          // A restart while nothing is open loses nothing.
          if (open.length === 0)
            ledger = new BudgetLedger(null, JSON.parse(JSON.stringify(ledger.state())));
        }
        for (const { reservation, input, output } of open) {
          ledger.settle(reservation, used(input, output), NOON_MS);
          total += input + output;
        }
        expect(ledger.spentBy(who.keyId, NOON_MS).day.tokens).toBe(total);
        expect(total).toBeLessThanOrEqual(200);
        const kept = new BudgetLedger(null, JSON.parse(JSON.stringify(ledger.state())));
        expect(kept.spentBy(who.keyId, NOON_MS)).toEqual(ledger.spentBy(who.keyId, NOON_MS));
      }),
    );
  });
});

describe("a file of keys", () => {
  let folder = "";
  let path = "";
  beforeEach(async () => {
    folder = await mkdtemp(join(tmpdir(), "manx-keys-"));
    path = join(folder, "keys.json");
  });
  afterEach(() => rm(folder, { recursive: true }));

  it("is its owner's alone, holds no key, is replaced as a whole and leaves nothing beside it", async () => {
    const one = make({ note: "first" });
    const two = make();
    await changeKeyFile(path, (keys) => [...keys, one.record]);
    await changeKeyFile(path, (keys) => [...keys, two.record]);
    expect((await stat(path)).mode & 0o777).toBe(0o600);
    expect(await readKeyFile(path)).toEqual([one.record, two.record]);
    const text = await readFile(path, "utf8");
    for (const { key } of [one, two]) expect(text).not.toContain(key.slice(12));
    expect(await readdir(folder)).toEqual(["keys.json"]);
  });

  it("stays as it was if a change fails, and a second writer is told to wait", async () => {
    const { record } = make();
    await changeKeyFile(path, () => [record]);
    const before = await readFile(path, "utf8");
    const failing = changeKeyFile(path, () => {
      throw new ManxError("MANX_KEY_UNKNOWN");
    });
    await expect(failing).rejects.toMatchObject({ code: "MANX_KEY_UNKNOWN" });
    await writeFile(`${path}.lock`, "");
    await expect(changeKeyFile(path, () => [])).rejects.toMatchObject({
      code: "MANX_KEY_FILE",
      where: `${path}.lock`,
    });
    expect(await readFile(path, "utf8")).toBe(before);
  });

  it("that ten writers change at once loses no key of those that were told it worked", async () => {
    const made = Array.from({ length: 10 }, () => make());
    const outcomes = await Promise.allSettled(
      made.map(({ record }) => changeKeyFile(path, (keys) => [...keys, record])),
    );
    const worked = made.filter((_, index) => outcomes[index]!.status === "fulfilled");
    const ids = (await readKeyFile(path)).map((one) => one.id);
    expect(new Set(ids)).toEqual(new Set(worked.map(({ record }) => record.id)));
    expect(worked.length).toBeGreaterThan(0);
  });

  it.each([
    ["{", "JSON"],
    ['{"version": 2, "keys": []}', "1"],
    ['{"version": 1, "keys": [{"id": "x", "hash": "y"}]}', "eight characters"],
  ])("that is damaged is refused without showing what it holds: %s", async (text, words) => {
    await writeFile(path, text);
    await expect(readKeyFile(path)).rejects.toMatchObject({
      code: "MANX_KEY_FILE",
      expected: expect.stringContaining(words),
    });
  });

  it("is new where there is none, unless one is expected", async () => {
    expect(await readKeyFile(path, true)).toEqual([]);
    await expect(readKeyFile(path)).rejects.toMatchObject({ code: "MANX_FILE_UNREADABLE" });
    const { record } = make();
    await writeFile(path, JSON.stringify({ version: 1, keys: [record, record] }));
    await expect(readKeyFile(path)).rejects.toMatchObject({
      message: expect.stringContaining("twice"),
    });
  });
});
