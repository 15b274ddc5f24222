import { describe, expect, it } from "vitest";
import { realClock } from "../clock/index.ts";
import { type CostModel, ENGINE_DEFAULTS } from "../engine/index.ts";
import { rehearse } from "./rehearsal.ts";

const clock = realClock;

function priced(stepUs: number): CostModel {
  return { name: "fixed", stepUs: () => stepUs };
}

describe("rehearse", () => {
  it("has nothing to say of a pace that any host keeps", async () => {
    const config = { ...ENGINE_DEFAULTS, sequencesMax: 4 };
    expect(await rehearse({ config, clock, speed: 1, cost: priced(2_000_000) })).toEqual([]);
  });

  it("refuses a pace that not even one answer could have, with the speed that it could", async () => {
    const asked = rehearse({ config: ENGINE_DEFAULTS, clock, speed: 1_000, cost: priced(1_000) });
    await expect(asked).rejects.toMatchObject({
      code: "MANX_CONFIG_IMPOSSIBLE",
      where: "speed",
      expected: "a step worked out within 0.001 ms",
      hint: expect.stringMatching(/^take a speed of at most \d+(\.\d+)?x$/),
    });
  });

  it("warns of a full batch that is too much, more so on several engines", async () => {
    const config = { ...ENGINE_DEFAULTS, sequencesMax: 400 };
    const [warning] = await rehearse({
      config,
      clock,
      speed: 1,
      replicas: 20,
      cost: priced(5_000),
    });
    expect(warning).toMatch(
      /^with 400 answers at a time on each of 20 engines this host needs \d+ ms for a step of 5 ms/,
    );
  });

  it("warns of steps that are finer than timers", async () => {
    const config = { ...ENGINE_DEFAULTS, sequencesMax: 1 };
    const warnings = await rehearse({ config, clock, speed: 1, cost: priced(900) });
    expect(warnings.at(-1)).toContain("a step of one answer takes 0.9 ms at this speed");
  });

  it("rehearses every kind of engine", async () => {
    const pools = { prefill: 1, decode: 2, link: "nvlink" as const };
    const speculation = { draftTokens: 4, acceptance: 0.7, draftShare: 0.05 };
    for (const more of [
      { pools },
      { speculation },
      { scheduling: "static" as const },
      { memory: "radix" as const, order: "fair-share" as const },
      { memory: "contiguous" as const, contextMax: 131_072 },
    ]) {
      const config = { ...ENGINE_DEFAULTS, sequencesMax: 8, ...more };
      expect(await rehearse({ config, clock, speed: 0.001 }), JSON.stringify(more)).toEqual([]);
    }
  });
});
