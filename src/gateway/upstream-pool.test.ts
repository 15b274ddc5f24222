import { type AddressInfo, createServer, type Socket } from "node:net";
import { describe, expect, it, onTestFinished } from "vitest";
import { until } from "../../test/support/live-gateway.ts";
import { realClock } from "../clock/index.ts";
import { GATEWAY_LIMITS, type GatewayLimits } from "./limits.ts";
import type { Berth } from "./transport/berth.ts";
import { Network } from "./transport/network.ts";
import { UpstreamPool } from "./upstream-pool.ts";

/** Accepts, and says nothing. */
async function poolWith(limits: Partial<GatewayLimits> = {}) {
  const sockets = new Set<Socket>();
  const server = createServer((socket) => {
    sockets.add(socket);
    socket.on("error", () => undefined).once("close", () => sockets.delete(socket));
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const pool = new UpstreamPool({
    origin: new URL(`http://127.0.0.1:${(server.address() as AddressInfo).port}`),
    limits: { ...GATEWAY_LIMITS, connectUs: 10_000_000, ...limits },
    clock: realClock,
    network: new Network(realClock),
  });
  onTestFinished(() => {
    pool.close();
    server.close();
  });
  return { pool, sockets };
}

function opened(berth: Berth): Promise<Error | null> {
  return new Promise((resolve) => berth.open(resolve));
}

describe("UpstreamPool", () => {
  it("gives a place to as many requests as it may have, and again when one has ended", async () => {
    const { pool } = await poolWith({ connections: 2 });
    const berths = [pool.take({ fresh: false })!, pool.take({ fresh: false })!];
    expect(pool.take({ fresh: false })).toBeUndefined();
    await Promise.all(berths.map(opened));
    berths[0]!.release();
    berths[0]!.cancel();
    expect([pool.open, pool.idle]).toEqual([2, 1]);
    const third = pool.take({ fresh: false })!;
    expect(third.isWarm).toBe(true);
    expect(third.marks?.reuse).toBe("reused");
    expect(pool.take({ fresh: false })).toBeUndefined();
  });

  it("closes one that nobody uses where a new one is wanted at the limit", async () => {
    const { pool } = await poolWith({ connections: 2 });
    await pool.warm(2);
    const fresh = pool.take({ fresh: true })!;
    expect([fresh.isWarm, pool.idle]).toEqual([false, 1]);
    expect(await opened(fresh)).toBeNull();
    expect([pool.open, fresh.marks?.reuse]).toEqual([2, "new"]);
  });

  it("gives up the connection of a request that is cancelled while it waits", async () => {
    const { pool, sockets } = await poolWith();
    const berth = pool.take({ fresh: false })!;
    berth.open(() => {
      throw new Error("called back");
    });
    berth.cancel();
    expect(pool.open).toBe(0);
    await until(() => sockets.size === 0);
    expect(pool.counts).toMatchObject({ opened: 0, failed: 0 });
  });

  it("keeps nothing when it is retired, but still serves calls that began with it", async () => {
    const { pool, sockets } = await poolWith();
    await pool.warm(2);
    const running = pool.take({ fresh: false })!;
    pool.retire();
    expect([pool.open, pool.idle]).toEqual([1, 0]);
    const late = pool.take({ fresh: false })!;
    expect(await opened(late)).toBeNull();
    late.release();
    running.release();
    expect(pool.open).toBe(0);
    await until(() => sockets.size === 0);
  });

  it("gives no place when it is closed, and tells those who wait", async () => {
    const { pool } = await poolWith();
    const waiting = opened(pool.take({ fresh: false })!);
    pool.close();
    expect(await waiting).toBeInstanceOf(Error);
    expect(pool.take({ fresh: false })).toBeUndefined();
  });
});
