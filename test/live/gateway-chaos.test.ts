/**
 * Whatever an upstream writes, however it is cut into reads, and whatever the client does meanwhile: the gateway stays up,
 * each request ends once, and nothing is left open.
 */
import fc from "fast-check";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { type Gateway, startGateway } from "../../src/gateway/index.ts";
import { CALL_POLICY } from "../../src/policy/index.ts";
import { call } from "../support/http-call.ts";
import { until } from "../support/live-gateway.ts";
import {
  chatText,
  chunk,
  EVENT_STREAM_HEAD,
  head,
  json,
  LAST_CHUNK,
  type ReplayServer,
  type Step,
  sleep,
  startReplayServer,
} from "../support/replay-server.ts";

/** A head that is nearly right: any status of three digits, and a field of any bytes. */
const oddHead = fc
  .tuple(fc.integer({ min: 0, max: 999 }), fc.uint8Array({ maxLength: 8 }))
  .map(([status, value]) =>
    Buffer.concat([
      Buffer.from(`HTTP/1.1 ${String(status).padStart(3, "0")} Odd\r\nx-odd: `),
      value,
      Buffer.from("\r\ncontent-length: 2\r\n\r\n{}"),
    ]),
  );

const bytes = fc.oneof(
  fc.constantFrom(
    EVENT_STREAM_HEAD,
    json(200, { ok: true }),
    head(200, { "content-type": "text/event-stream", connection: "close" }),
    head(200, { "content-type": "application/json", "content-length": "20" }),
    head(204, {}),
    "HTTP/1.1 100 Continue\r\n\r\n",
    "HTTP/1.1 103 Early Hints\r\nlink: </x>\r\n\r\n",
    "HTTP/1.0 200 OK\r\n\r\nold",
    LAST_CHUNK,
    "5\r\nhel",
    "zz\r\n",
  ),
  fc.constantFrom(chatText("a"), ": ping\n\n", "data: [DONE]\n\n", 'data: {"cho', "\r").map(chunk),
  fc.uint8Array({ maxLength: 40 }),
  oddHead,
);

const step: fc.Arbitrary<Step> = fc.record(
  {
    afterMs: fc.constantFrom(0, 1, 3),
    bytes,
    byteByByte: fc.boolean(),
    end: fc.constantFrom("fin" as const, "rst" as const),
  },
  { requiredKeys: [] },
);

const run = fc.record({
  steps: fc.array(step, { maxLength: 8 }),
  client: fc.constantFrom("reads", "leaves", "pauses"),
  path: fc.constantFrom("chat/completions", "messages", "embeddings"),
});

describe("under chaos", () => {
  let upstream: ReplayServer;
  let gateway: Gateway;
  let steps: readonly Step[] = [];

  beforeAll(async () => {
    upstream = await startReplayServer(() => steps);
    const limits = { writeUs: 60_000, drainUs: 100_000 };
    const gaps = { lifeGapUs: 60_000, progressGapUs: 60_000, thinkingGapUs: 60_000 };
    const timeouts = { headersUs: 60_000, firstContentUs: 60_000, ...gaps };
    const retry = { ...CALL_POLICY.retry, attemptsMax: 2, backoffBaseUs: 2_000 };
    // Nobody is ever well here: a breaker would only keep the calls from the upstream.
    const policy = { retry, breaker: null };
    gateway = await startGateway({
      upstream: upstream.url,
      preconnect: 1,
      limits,
      timeouts,
      policy,
    });
  });

  afterAll(async () => {
    await gateway.close();
    await upstream.close();
  });

  it("every request ends, and the gateway still serves", async () => {
    let stayed = 0;
    let left = 0;
    await fc.assert(
      fc.asyncProperty(run, async (drawn) => {
        steps = drawn.steps;
        if (drawn.client === "leaves") left += 1;
        else stayed += 1;
        const url = `${gateway.url}/v1/${drawn.path}`;
        const made = call(url, { paused: drawn.client === "pauses" });
        if (drawn.client === "leaves") {
          await sleep(2);
          made.abort();
        } else if (drawn.client === "pauses") {
          made.head.then((response) => setTimeout(() => response.resume(), 10)).catch(() => null);
        }
        await made.ended;
        await until(() => gateway.inFlight() === 0);
        // One that is kept warm may just be opening.
        await until(() => gateway.connections().open === gateway.connections().idle);
      }),
      { numRuns: 150 },
    );
    const text = await gateway.metricsText();
    const counts = [...text.matchAll(/^manx_gateway_requests_total\{.*\} (\d+)$/gm)];
    const counted = counts.reduce((sum, [, n]) => sum + Number(n), 0);
    // Who left early enough was never seen.
    expect(counted).toBeGreaterThanOrEqual(stayed);
    expect(counted).toBeLessThanOrEqual(stayed + left);
    steps = [{ bytes: json(200, { ok: true }) }];
    const made = call(`${gateway.url}/v1/embeddings`);
    await made.ended;
    expect(made.text()).toBe('{"ok":true}');
  });
});
