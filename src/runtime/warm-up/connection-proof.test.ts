import { describe, expect, it } from "vitest";
import { SimClock } from "../../clock/index.ts";
import { connectionProof, type ProofFetch } from "./connection-proof.ts";
import { WarmUp } from "./warm-up.ts";

/** A pool in memory that keeps as many idle connections as it is told. */
function pool(keeps: number) {
  let [idle, opened] = [0, 0];
  const seen: Record<string, string>[] = [];
  const fetch: ProofFetch = async (_url, { headers, method }) => {
    expect(method).toBe("GET");
    seen.push(headers);
    if (idle > 0) idle -= 1;
    else opened += 1;
    await Promise.resolve();
    return {
      status: 401,
      arrayBuffer: async () => {
        idle = Math.min(keeps, idle + 1);
      },
    };
  };
  return { fetch, seen, opened: () => opened };
}

async function warmed(item: ReturnType<typeof connectionProof>) {
  const clock = new SimClock();
  const up = new WarmUp({ items: { pool: item }, clock, attempts: 1 });
  const started = up.start();
  await clock.run();
  const { items } = await started;
  return { item: items[0]!, value: items[0]!.status === "ready" ? await up.get("pool") : null };
}

describe("connections opened ahead", () => {
  it("are proved by requests that open no new one, and are marked as warm-up", async () => {
    const { fetch, seen, opened } = pool(8);
    const { value } = await warmed(
      connectionProof(fetch, "https://api.example.com/v1/models", {
        count: 4,
        opened,
        headers: { authorization: "Bearer x" },
      }),
    );
    expect(value).toEqual({ status: 401, opened: 4, reused: 4 });
    expect(seen).toHaveLength(8);
    expect(seen[0]).toEqual({ authorization: "Bearer x", "x-manx-purpose": "warm-up" });
  });

  it("are not believed if they are closed after an answer, as after a HEAD", async () => {
    const { fetch, opened } = pool(0);
    const { item } = await warmed(
      connectionProof(fetch, "https://api.example.com/", { count: 2, opened }),
    );
    expect(item).toMatchObject({
      status: "failed",
      error: expect.stringContaining("connections that were opened are not used again"),
    });
  });

  it("are said to be unproved where nobody counts them", async () => {
    const { value } = await warmed(connectionProof(pool(1).fetch, "https://api.example.com/"));
    expect(value).toEqual({ status: 401, opened: null, reused: null });
  });

  it("are refused in numbers that cannot be", () => {
    for (const count of [0, 1.5, 257]) {
      expect(() => connectionProof(pool(1).fetch, "https://a/", { count })).toThrow(
        expect.objectContaining({ code: "MANX_WARM_UP_INVALID" }),
      );
    }
  });
});
