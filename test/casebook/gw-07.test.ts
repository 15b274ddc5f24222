/** GW-07: a Retry-After that cannot be read becomes a retry at once, in a tight loop; one that can be read is not obeyed. */
import { describe, expect, it } from "vitest";
import { type FailureKind, readRetryAfterUs } from "../../src/policy/index.ts";
import { answer, drive, makeRoute, type Script, world } from "../support/call-world.ts";
import { call, chatScript, fetchWorld, refusal } from "../support/fetch-world.ts";

const WALL_MS = Date.UTC(2026, 0, 1);
const BASE_MS = 500;
const POLICY = {
  retry: {
    attemptsMax: 2,
    backoffBaseUs: BASE_MS * 1_000,
    backoffCapUs: 8_000_000,
    retryAfterMaxUs: 20_000_000,
    share: 1,
  },
};

/** The casebook’s rows: headers, and the pause that is right in ms (jitter adds a tenth); null for "no sleep, surface it". */
const ROWS: [string, Record<string, string>, [number, number] | null][] = [
  ["a", { "retry-after": "2" }, [2_000, 2_200]],
  ["b", { "retry-after-ms": "350", "retry-after": "9" }, [350, 385]],
  ["c", { "retry-after": "Thu, 01 Jan 2026 00:00:07 GMT" }, [7_000, 7_500]],
  ["d", { "retry-after": "Wed, 31 Dec 2025 23:59:00 GMT" }, [BASE_MS / 2, BASE_MS]],
  ["e", { "retry-after": "-3" }, [BASE_MS / 2, BASE_MS]],
  ["f", { "retry-after": "+3" }, [BASE_MS / 2, BASE_MS]],
  ["g", { "retry-after": "1000abc" }, [BASE_MS / 2, BASE_MS]],
  ["h", { "retry-after": "Soon" }, [BASE_MS / 2, BASE_MS]],
  ["i", { "retry-after": "" }, [BASE_MS / 2, BASE_MS]],
  ["j", { "retry-after": "1.5" }, [1_500, 1_650]],
  ["k", { "retry-after": "0" }, [0, BASE_MS]],
  ["l", { "retry-after": "3600" }, null],
  [
    "o",
    {
      "anthropic-ratelimit-requests-remaining": "0",
      "anthropic-ratelimit-requests-reset": "2026-01-01T00:00:04Z",
    },
    [4_000, 4_400],
  ],
];

/** @returns the pause before the second attempt in ms, or undefined if there was none. */
function pauseMs(
  headers: Record<string, string>,
  more: Partial<{ status: number; should: boolean }> = {},
) {
  const { clock, random } = world();
  const kind: FailureKind = "status";
  const refused: Script = {
    endUs: 0,
    failure: {
      kind,
      status: more.status ?? 429,
      retryAfterUs: readRetryAfterUs((name) => headers[name], WALL_MS),
      shouldRetry: more.should,
    },
  };
  const trace = drive(clock, makeRoute(random, { policy: POLICY }), {}, (_, attempt) => {
    return attempt === 0 ? refused : answer(10_000);
  });
  clock.runSync(60_000_000);
  expect(trace.endedUs).toBeDefined();
  const second = trace.begins[1];
  return second === undefined ? undefined : second.atUs / 1_000;
}

describe("GW-07: Retry-After in all its forms", () => {
  it.each(ROWS)("row %s: %o", (_, headers, right) => {
    const pause = pauseMs(headers);
    if (right === null) {
      expect(pause).toBeUndefined();
      return;
    }
    expect(pause).toBeGreaterThanOrEqual(right[0]);
    expect(pause).toBeLessThanOrEqual(right[1]);
  });

  it("obeys x-should-retry both ways (rows m and n)", () => {
    expect(pauseMs({}, { status: 503, should: false })).toBeUndefined();
    expect(pauseMs({}, { status: 409, should: true })).toBeDefined();
    expect(pauseMs({}, { status: 409 })).toBeUndefined();
  });

  it("keeps other calls off the target for as long as it asked", () => {
    const { clock, random } = world();
    const route = makeRoute(random, { policy: POLICY, targets: 2, orders: [0, 1] });
    const hits: number[] = [];
    const upstream = (target: number): Script => {
      hits.push(target);
      return target === 0
        ? {
            endUs: 0,
            failure: {
              kind: "status",
              status: 429,
              retryAfterUs: 3_000_000,
              shouldRetry: undefined,
            },
          }
        : answer(10_000);
    };
    for (let i = 0; i < 5; i += 1) {
      drive(clock, route, {}, upstream);
      clock.runSync(clock.nowUs() + 500_000);
    }
    expect(hits).toEqual([0, 1, 1, 1, 1, 1]);
  });
});

describe("GW-07 in the agent's own process", () => {
  const policy = {
    retry: { attempts: 2, backoff: `${BASE_MS}ms`, retryAfterMax: "20s", share: 1 },
  } as const;

  /** @returns the hits' times in ms, and the caller's status. */
  async function hits(status: number, headers: Record<string, string>) {
    const live = fetchWorld((_, number) => {
      return number === 0 ? refusal(status, headers) : chatScript(10);
    });
    const seen = call(live, live.manx({ policy }));
    await live.clock.run();
    // A refusal is whole 5 ms after its hit.
    const [first, second] = live.hits.map(({ atMs }) => atMs);
    const pause = second === undefined ? undefined : second - first! - 5;
    return { pause, status: seen.response!.status, headers: seen.response!.headers };
  }

  it.each(ROWS)("row %s: %o", async (_, headers, right) => {
    const seen = await hits(429, headers);
    if (right === null) {
      expect(seen).toMatchObject({ pause: undefined, status: 429 });
      expect(seen.headers.get("retry-after")).toBe(headers["retry-after"]);
      expect(seen.headers.get("x-should-retry")).toBe("false");
      return;
    }
    expect(seen.pause).toBeGreaterThanOrEqual(right[0]);
    expect(seen.pause).toBeLessThanOrEqual(right[1]);
    expect(seen.status).toBe(200);
  });

  it("obeys x-should-retry both ways (rows m and n)", async () => {
    expect((await hits(503, { "x-should-retry": "false" })).pause).toBeUndefined();
    expect((await hits(409, { "x-should-retry": "true" })).pause).toBeDefined();
  });
});
