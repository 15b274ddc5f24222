import { describe, expect, it } from "vitest";
import { CALL_POLICY } from "../policy/index.ts";
import { configFromUpstream } from "./config/index.ts";
import { GATEWAY_LIMITS, limitsInEffect } from "./limits.ts";
import { simpleConfig } from "./simple-config.ts";

const upstream = "http://127.0.0.1:9";

describe("simpleConfig", () => {
  it("has the limits that a file or flags would have", () => {
    const { config } = configFromUpstream(upstream);
    expect(limitsInEffect(simpleConfig({ upstream }))).toEqual(limitsInEffect(config));
    expect(limitsInEffect(config)).toEqual({
      ...GATEWAY_LIMITS,
      timeouts: { default: CALL_POLICY.timeouts },
    });
  });

  it("changes the limits by phase that are given, and no others", () => {
    const { timeouts } = simpleConfig({ upstream, timeouts: { lifeGapUs: 5 } }).policies.default!;
    expect(timeouts).toEqual({ ...CALL_POLICY.timeouts, lifeGapUs: 5 });
  });

  it.each([-1, 1.5, Number.NaN])("refuses a limit of %d", (lifeGapUs) => {
    expect(() => simpleConfig({ upstream, timeouts: { lifeGapUs } })).toThrow(
      expect.objectContaining({ code: "MANX_FLAG_VALUE", where: "timeouts.lifeGapUs" }),
    );
  });
});
