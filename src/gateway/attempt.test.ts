import { describe, expect, it, onTestFinished } from "vitest";
import { json, startReplayServer } from "../../test/support/replay-server.ts";
import { realClock } from "../clock/index.ts";
import { Attempt, type AttemptSink, type Fault } from "./attempt.ts";
import { GATEWAY_LIMITS } from "./limits.ts";
import type { UpstreamRequest } from "./transport/channel.ts";
import { Network } from "./transport/network.ts";
import { UpstreamPool } from "./upstream-pool.ts";

const REQUEST: UpstreamRequest = {
  method: "POST",
  path: "/v1/x",
  headers: [],
  body: Buffer.from("{}"),
};

async function attempt(sink: Partial<AttemptSink>): Promise<{ pool: UpstreamPool; made: Attempt }> {
  const upstream = await startReplayServer(() => [{ bytes: json(200, { ok: true }) }]);
  const pool = new UpstreamPool({
    origin: new URL(upstream.url),
    limits: { ...GATEWAY_LIMITS, connectUs: 0 },
    clock: realClock,
    network: new Network(realClock),
  });
  onTestFinished(async () => {
    pool.close();
    await upstream.close();
  });
  const nothing = (): void => undefined;
  const whole = {
    onSent: nothing,
    onHead: nothing,
    onData: nothing,
    onEnd: nothing,
    onFault: nothing,
    ...sink,
  };
  const made = new Attempt({ pool, clock: realClock }, REQUEST, whole);
  made.start({ fresh: false });
  return { pool, made };
}

describe("Attempt", () => {
  it("hands head, body and end of one read on in one turn, and gives the connection back", async () => {
    const calls: string[] = [];
    let pool: UpstreamPool | undefined;
    await new Promise<void>((resolve) => {
      attempt({
        onHead: (status) => {
          calls.push(`head ${status}`);
          queueMicrotask(() => calls.push("turn over"));
        },
        onEnd: (last) => {
          calls.push(`end ${last}`);
          resolve();
        },
      }).then((started) => {
        pool = started.pool;
      });
    });
    expect(calls).toEqual(["head 200", 'end {"ok":true}', "turn over"]);
    expect([pool?.open, pool?.idle]).toEqual([1, 1]);
  });

  it("ends itself, and not the process, if what it hands on is refused", async () => {
    const fault = await new Promise<Fault>((resolve) => {
      const refuse = (): never => {
        throw new TypeError("invalid character in header");
      };
      void attempt({ onHead: refuse, onFault: resolve });
    });
    expect(fault).toMatchObject({ kind: "local", error: { code: "MANX_INTERNAL" } });
  });

  it("calls nothing after it was cancelled, and closes its connection", async () => {
    const refuse = (): never => {
      throw new Error("called after cancel");
    };
    const all = { onHead: refuse, onData: refuse, onEnd: refuse, onFault: refuse };
    const { pool, made } = await attempt(all);
    made.cancel();
    await new Promise((resolve) => setTimeout(resolve, 30));
    expect([pool.open, pool.counts.failed]).toEqual([0, 0]);
  });
});
