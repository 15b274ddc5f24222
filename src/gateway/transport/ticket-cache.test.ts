import { describe, expect, it } from "vitest";
import { TicketCache } from "./ticket-cache.ts";

const session = (text: string): Buffer => Buffer.from(text);

describe("TicketCache", () => {
  it("tells hosts, ports, names and trust apart", () => {
    const keys = [
      TicketCache.keyOf(new URL("https://a.test"), {}),
      TicketCache.keyOf(new URL("https://b.test"), {}),
      TicketCache.keyOf(new URL("https://a.test:8443"), {}),
      TicketCache.keyOf(new URL("https://a.test"), { servername: "c.test" }),
      TicketCache.keyOf(new URL("https://a.test"), { ca: "one" }),
      TicketCache.keyOf(new URL("https://a.test"), { ca: "other" }),
    ];
    expect(new Set(keys).size).toBe(keys.length);
    expect(TicketCache.keyOf(new URL("https://a.test/v1"), {})).toBe(keys[0]);
  });

  it("keeps the newest session, as often as it is asked for", () => {
    const cache = new TicketCache();
    cache.set("a", session("old"));
    cache.set("a", session("new"));
    expect([cache.get("a"), cache.get("a")].map(String)).toEqual(["new", "new"]);
    cache.delete("a");
    expect(cache.get("a")).toBeUndefined();
  });

  it("is bounded, and forgets what was used longest ago", () => {
    const cache = new TicketCache();
    for (let i = 0; i < 256; i += 1) cache.set(`key ${i}`, session("s"));
    cache.get("key 0");
    cache.set("one more", session("s"));
    expect(cache.size).toBe(256);
    expect(cache.get("key 0")).toBeDefined();
    expect(cache.get("key 1")).toBeUndefined();
  });

  it("wakes whoever waits for a session, once, and not who has left", () => {
    const cache = new TicketCache();
    const woken: string[] = [];
    cache.whenSet("a", () => woken.push("first"));
    const leave = cache.whenSet("a", () => woken.push("left"));
    leave();
    cache.set("b", session("s"));
    expect(woken).toEqual([]);
    cache.set("a", session("s"));
    cache.set("a", session("s"));
    cache.whenSet("a", () => woken.push("at once"));
    expect(woken).toEqual(["first", "at once"]);
  });
});
