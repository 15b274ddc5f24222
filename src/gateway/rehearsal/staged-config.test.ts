import { describe, expect, it } from "vitest";
import { Secret } from "../../config/index.ts";
import type { GatewayConfig } from "../config/index.ts";
import { simpleConfig } from "../simple-config.ts";
import { stagedConfig } from "./staged-config.ts";

const SECRET = new Secret("env:REAL_KEY", "gateway", { env: { REAL_KEY: "real" }, folder: "/" });
const base = simpleConfig({ upstream: "https://real.test", policy: { gateUs: 7 } });
const real: GatewayConfig = {
  ...base,
  listen: { host: "0.0.0.0", port: 4000, workers: 4, rehearsal: 1_000 },
  admin: { host: "127.0.0.1", port: 4001, key: SECRET },
  upstreams: base.upstreams.map((upstream) => ({
    ...upstream,
    urls: ["https://real.test", "https://real-2.test/v1"],
    key: SECRET,
  })),
  keys: { source: "file", path: "/real/keys.json" },
  log: { access: { path: "/real/access.log" }, client: true },
  otlp: { url: "https://real.test", headers: { key: SECRET }, share: 1, slowUs: 1, names: "old" },
  state: SECRET,
};

describe("a staged configuration", () => {
  const staged = stagedConfig(real, "http://127.0.0.1:7");

  it("names nothing real: no address, no key, no file", () => {
    const text = JSON.stringify(staged);
    expect(text).not.toMatch(/real/i);
    expect(staged.listen).toEqual({ host: "127.0.0.1", port: 0, workers: 1, rehearsal: 0 });
    for (const { key } of staged.upstreams) expect(key).toBeNull();
    expect([staged.admin, staged.otlp, staged.state]).toEqual([null, null, null]);
  });

  it("keeps the rules, and as many replicas", () => {
    expect(staged.policies).toBe(real.policies);
    expect(staged.models).toBe(real.models);
    expect(staged.upstreams[0]!.urls).toEqual([
      "http://127.0.0.1:7",
      "http://127.0.0.1:7/replica-1",
    ]);
    expect(staged.log.access).not.toBe("off");
  });

  it("has its members in the order of the real one: objects of one shape are served by one code", () => {
    expect(Object.keys(staged)).toEqual(Object.keys(real));
    expect(Object.keys(staged.upstreams[0]!)).toEqual(Object.keys(real.upstreams[0]!));
  });
});
