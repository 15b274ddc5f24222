import type { LookupAddress } from "node:dns";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { SimClock } from "../../clock/index.ts";
import { US_PER_S } from "../../core/index.ts";
import { DnsCache } from "./dns-cache.ts";
import type { NameRecord, NameService } from "./name-service.ts";

const HOST = "api.example.test";

function addresses(...texts: readonly string[]): LookupAddress[] {
  return texts.map((address) => ({ address, family: address.includes(":") ? 6 : 4 }));
}

/** Names whose answers a test sets, and whose lookups it ends. */
class PlayedNames implements NameService {
  answer: readonly LookupAddress[] | Error = addresses("192.0.2.1");
  told: readonly NameRecord[] = [];
  /** Lookups hang until `go`. */
  hangs = false;
  lookups = 0;
  #waiting: (() => void)[] = [];

  async lookup(): Promise<readonly LookupAddress[]> {
    this.lookups += 1;
    if (this.hangs) await new Promise<void>((resolve) => this.#waiting.push(resolve));
    if (this.answer instanceof Error) throw this.answer;
    return this.answer;
  }

  records(): Promise<readonly NameRecord[]> {
    return Promise.resolve(this.told);
  }

  close(): void {}

  go(): void {
    for (const resolve of this.#waiting.splice(0)) resolve();
  }
}

function world() {
  const clock = new SimClock();
  const names = new PlayedNames();
  const cache = new DnsCache(clock, names);
  const resolve = (host = HOST): Promise<string[]> =>
    new Promise((done, fail) => {
      cache.resolve(host, (error, found) => {
        if (error === null) done(found.map(({ address }) => address));
        else fail(error);
      });
    });
  return { clock, names, cache, resolve };
}

async function settle(): Promise<void> {
  for (let i = 0; i < 10; i += 1) await Promise.resolve();
}

describe("DnsCache", () => {
  it("keeps an answer for as long as DNS says, and asks again after that", async () => {
    const { clock, names, resolve } = world();
    names.told = [{ address: "192.0.2.1", ttlS: 7 }];
    await resolve();
    await settle();
    clock.runSync(7 * US_PER_S - 1);
    await resolve();
    expect(names.lookups).toBe(1);
    clock.runSync(7 * US_PER_S);
    await resolve();
    expect(names.lookups).toBe(2);
  });

  it("answers at once, and in the same turn, what it knows", async () => {
    const { cache, resolve } = world();
    await resolve();
    let answered = false;
    cache.resolve(HOST, () => {
      answered = true;
    });
    expect(answered).toBe(true);
  });

  it.each([
    ["DNS knows nothing of it, as of a name of the hosts file", [], 30],
    [
      "DNS has other addresses, as where the hosts file overrules it",
      [{ address: "198.51.100.9", ttlS: 900 }],
      30,
    ],
    ["the TTL is 0", [{ address: "192.0.2.1", ttlS: 0 }], 1],
    ["the TTL is a week", [{ address: "192.0.2.1", ttlS: 604_800 }], 3_600],
  ])("when %s, holds an answer for a bounded time", async (_name, told, holdsS) => {
    const { clock, names, resolve } = world();
    names.told = told;
    await resolve();
    await settle();
    clock.runSync(holdsS * US_PER_S - 1);
    await resolve();
    expect(names.lookups).toBe(1);
    clock.runSync(holdsS * US_PER_S);
    await resolve();
    expect(names.lookups).toBe(2);
  });

  it("asks once for all who wait", async () => {
    const { names, resolve } = world();
    names.hangs = true;
    const all = Promise.all([resolve(), resolve(), resolve()]);
    await settle();
    names.go();
    expect(await all).toEqual([["192.0.2.1"], ["192.0.2.1"], ["192.0.2.1"]]);
    expect(names.lookups).toBe(1);
  });

  it("holds a failure for 2 s only", async () => {
    const { clock, names, resolve } = world();
    names.answer = Object.assign(new Error("no such name"), { code: "ENOTFOUND" });
    await expect(resolve()).rejects.toMatchObject({ code: "ENOTFOUND" });
    await expect(resolve()).rejects.toMatchObject({ code: "ENOTFOUND" });
    expect(names.lookups).toBe(1);
    names.answer = addresses("192.0.2.1");
    clock.runSync(2 * US_PER_S);
    expect(await resolve()).toEqual(["192.0.2.1"]);
  });

  it("goes on with an old answer while nobody gives a new one, for an hour", async () => {
    const { clock, names, cache, resolve } = world();
    await resolve();
    names.answer = new Error("the name server is gone");
    clock.runSync(40 * US_PER_S);
    expect(await resolve()).toEqual(["192.0.2.1"]);
    expect(cache.counts.stale).toBe(1);
    clock.runSync(3_700 * US_PER_S);
    await expect(resolve()).rejects.toThrow("the name server is gone");
  });

  it("waits half a second for a new answer where it has an old one", async () => {
    const { clock, names, resolve } = world();
    await resolve();
    names.hangs = true;
    clock.runSync(40 * US_PER_S);
    const asked = resolve();
    await settle();
    clock.runSync(40.5 * US_PER_S);
    expect(await asked).toEqual(["192.0.2.1"]);
    names.answer = addresses("192.0.2.7");
    names.go();
    await settle();
    expect(await resolve()).toEqual(["192.0.2.7"]);
  });

  it("calls nobody back who has taken the question back", async () => {
    const { names, cache } = world();
    names.hangs = true;
    const cancel = cache.resolve(HOST, () => {
      throw new Error("called back");
    });
    cancel();
    names.go();
    await settle();
    expect(cache.counts.lookups).toBe(1);
  });

  it("begins with another address each time, and keeps the system's family in front", async () => {
    const { names, resolve } = world();
    names.answer = addresses("2001:db8::1", "2001:db8::2", "192.0.2.1");
    const firsts = [await resolve(), await resolve(), await resolve()].map(([first]) => first);
    expect(firsts).toEqual(["2001:db8::1", "2001:db8::2", "2001:db8::1"]);
  });

  it("puts an address that could not be connected to last, for 30 s or until it could", async () => {
    const { clock, names, cache, resolve } = world();
    names.answer = addresses("192.0.2.1", "192.0.2.2");
    await resolve();
    cache.noteDead(HOST, "192.0.2.2");
    expect([await resolve(), await resolve()].map((each) => each.at(-1))).toEqual([
      "192.0.2.2",
      "192.0.2.2",
    ]);
    cache.noteAlive(HOST, "192.0.2.2");
    const firsts = new Set([(await resolve())[0], (await resolve())[0]]);
    expect(firsts).toEqual(new Set(["192.0.2.1", "192.0.2.2"]));
    cache.noteDead(HOST, "192.0.2.2");
    clock.runSync(29 * US_PER_S);
    expect((await resolve()).at(-1)).toBe("192.0.2.2");
    clock.runSync(60 * US_PER_S);
    expect(new Set([(await resolve())[0], (await resolve())[0]])).toEqual(firsts);
  });

  it("loses no address and makes none up, whatever is dead", async () => {
    const pool = addresses("192.0.2.1", "192.0.2.2", "192.0.2.3", "2001:db8::1", "2001:db8::2");
    await fc.assert(
      fc.asyncProperty(
        fc.shuffledSubarray(pool, { minLength: 1 }),
        fc.array(fc.nat(4), { maxLength: 8 }),
        async (answer, dead) => {
          const { names, cache, resolve } = world();
          names.answer = answer;
          await resolve();
          for (const each of dead) cache.noteDead(HOST, pool[each]!.address);
          const got = await resolve();
          expect([...got].sort()).toEqual(answer.map(({ address }) => address).sort());
          const isDead = got.map((one) => dead.some((each) => pool[each]!.address === one));
          expect(isDead).toEqual([...isDead].sort());
        },
      ),
    );
  });

  it("knows a bounded number of names, the last ones asked for", async () => {
    const { names, cache, resolve } = world();
    for (let i = 0; i < 1_100; i += 1) await resolve(`host-${i}.test`);
    expect(cache.size).toBe(1_024);
    await resolve("host-1099.test");
    expect(names.lookups).toBe(1_100);
  });
});
