import { describe, expect, it } from "vitest";
import { isFromThisMachine, isMarkedWarmUp } from "./warm-up-mark.ts";

describe("isMarkedWarmUp", () => {
  it("knows the one purpose", () => {
    expect(isMarkedWarmUp({ "x-manx-purpose": "warm-up" })).toBe(true);
    expect(isMarkedWarmUp({ "x-manx-purpose": "warm" })).toBe(false);
    expect(isMarkedWarmUp({})).toBe(false);
  });
});

describe("isFromThisMachine", () => {
  it.each(["127.0.0.1", "127.8.9.1", "::1"])("takes %s for it", (client) => {
    expect(isFromThisMachine(client, {})).toBe(true);
  });

  it.each(["10.0.0.7", "192.168.1.2", "2001:db8::1", "1270.0.0.1", undefined])(
    "does not take %s for it",
    (client) => {
      expect(isFromThisMachine(client, {})).toBe(false);
    },
  );

  it.each(["forwarded", "x-forwarded-for", "x-real-ip", "via"])(
    "does not take a proxy on it for it, which sends %s",
    (name) => {
      expect(isFromThisMachine("127.0.0.1", { [name]: "127.0.0.1" })).toBe(false);
    },
  );
});
