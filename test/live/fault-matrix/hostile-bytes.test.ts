/**
 * Bytes that no honest client sends, at a gateway in a process of its own: each refused with the right status and nothing of
 * it at the upstream, the process up, small and free of timers afterwards.
 */
import { connect } from "node:net";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { BODIES, type HostileCase, PATHS, SMUGGLING } from "../../support/fault-hostile.ts";
import { type GatewayProcess, startGatewayProcess } from "../../support/fault-process.ts";
import { answer } from "../../support/http-call.ts";
import { json, type ReplayServer, sleep, startReplayServer } from "../../support/replay-server.ts";

const CASES: readonly HostileCase[] = [...SMUGGLING, ...PATHS, ...BODIES];

/** @returns the status of each answer on the connection; [0] if it was closed without one. */
function send(url: string, bytes: Buffer, closesAfterMs = 2_000): Promise<number[]> {
  const { port } = new URL(url);
  return new Promise((resolve) => {
    const socket = connect(Number(port), "127.0.0.1");
    const timer = setTimeout(() => socket.destroy(), closesAfterMs);
    let text = "";
    socket.on("error", () => undefined);
    socket.on("data", (part: Buffer) => {
      text += part.toString("latin1");
    });
    socket.on("close", () => {
      clearTimeout(timer);
      const statuses = [...text.matchAll(/^HTTP\/1\.1 (\d{3})/gm)].map(([, status]) =>
        Number(status),
      );
      resolve(statuses.length === 0 ? [0] : statuses);
    });
    socket.write(bytes);
  });
}

async function start(): Promise<{ gateway: GatewayProcess; upstream: ReplayServer }> {
  const upstream = await startReplayServer(() => [{ bytes: json(200, { ok: true }) }]);
  const gateway = await startGatewayProcess({
    upstream: upstream.url,
    preconnect: 0,
    limits: { bodyBytes: 2 ** 21, receiveHeadUs: 1_000_000, receiveUs: 2_000_000 },
  });
  return { gateway, upstream };
}

async function expectSound({ gateway }: { gateway: GatewayProcess }): Promise<void> {
  expect((await answer(`${gateway.url}/v1/embeddings`, { body: "{}" })).text).toBe('{"ok":true}');
  for (let tries = 0; tries < 400 && (await gateway.holds()).inFlight > 0; tries += 1)
    await sleep(5);
  expect(await gateway.holds()).toMatchObject({ inFlight: 0, busy: 0 });
  expect([gateway.isAlive(), gateway.stderr()]).toEqual([true, ""]);
}

describe("hostile bytes", () => {
  it("of every known kind are refused as they must be, and none of them gets further", async () => {
    const world = await start();
    const { gateway, upstream } = world;
    const wrong: object[] = [];
    for (const { name, bytes, statuses, isForwarded } of CASES) {
      const before = upstream.hits.length;
      const got = await send(gateway.url, bytes);
      const hits = upstream.hits.length - before;
      const isRight = got.length === 1 && statuses.includes(got[0]!);
      if (!isRight || hits !== (isForwarded === true ? 1 : 0)) wrong.push({ name, got, hits });
    }
    expect(wrong).toEqual([]);
    await expectSound(world);
    await upstream.close();
  });

  it("in thousands of headers lose none of them on the way", async () => {
    const world = await start();
    const { gateway, upstream } = world;
    const headers = Array.from({ length: 2_500 }, (_, at) => `x-${at}:y\r\n`).join("");
    const head = `POST /v1/embeddings HTTP/1.1\r\nhost: x\r\n${headers}x-last: z\r\n`;
    await send(gateway.url, Buffer.from(`${head}content-length: 2\r\nconnection: close\r\n\r\n{}`));
    expect(upstream.hits[0]?.headers["x-last"]).toBe("z");
    await upstream.close();
  });

  it("drawn at random, and honest ones with a few bytes changed, take nothing down", async () => {
    const world = await start();
    const { gateway, upstream } = world;
    const seeds = CASES.map(({ bytes }) => bytes).filter(({ length }) => length < 2_000);
    const changed = fc
      .tuple(
        fc.constantFrom(...seeds),
        fc.array(fc.tuple(fc.nat(), fc.nat({ max: 255 })), { minLength: 1, maxLength: 4 }),
      )
      .map(([seed, changes]) => {
        const bytes = Buffer.from(seed);
        for (const [at, byte] of changes) bytes[at % bytes.length] = byte;
        return bytes;
      });
    const drawn = fc.oneof(
      changed,
      fc.uint8Array({ maxLength: 200 }).map((bytes) => Buffer.from(bytes)),
    );
    await fc.assert(
      fc.asyncProperty(fc.array(drawn, { minLength: 8, maxLength: 8 }), async (requests) => {
        await Promise.all(requests.map((bytes) => send(gateway.url, bytes, 20)));
        expect(gateway.isAlive()).toBe(true);
      }),
      { numRuns: 40 },
    );
    await expectSound(world);
    await upstream.close();
  });

  it("that come a few at a time hold no connection for long", async () => {
    const world = await start();
    const { gateway, upstream } = world;
    const sockets = Array.from({ length: 20 }, () => {
      const socket = connect(Number(new URL(gateway.url).port), "127.0.0.1");
      socket.on("error", () => undefined);
      socket.resume();
      socket.write("POST /v1/chat/completions HTTP/1.1\r\nhost: x\r\n");
      return socket;
    });
    const drip = setInterval(() => {
      for (const socket of sockets) if (socket.writable) socket.write("x-a: b\r\n");
    }, 100);
    await Promise.all(
      sockets.map((socket) => new Promise((resolve) => socket.once("close", resolve))),
    );
    clearInterval(drip);
    expect(upstream.hits).toHaveLength(0);
    await expectSound(world);
    await upstream.close();
  });
});
