import { connect as connectTls } from "node:tls";
import { describe, expect, it, onTestFinished } from "vitest";
import { startFrameUpstream } from "../../../test/support/h2-frames.ts";
import { until } from "../../../test/support/live-gateway.ts";
import { SimClock } from "../../clock/index.ts";
import { US_PER_S } from "../../core/index.ts";
import type { BreakKind } from "./channel.ts";
import type { ConnectionMarks } from "./connection-marks.ts";
import { H2Connection } from "./h2-connection.ts";

const MARKS: ConnectionMarks = { reuse: "new", protocol: "h2", dnsUs: 0, tcpUs: 0, tlsUs: 0 };
const REQUEST = { method: "POST", path: "/", headers: [], body: Buffer.from("{}") } as const;

async function connected(answersPings: boolean) {
  const upstream = await startFrameUpstream(() => undefined, { answersPings });
  const origin = new URL(upstream.url);
  const socket = connectTls({
    host: "127.0.0.1",
    port: Number(origin.port),
    ca: upstream.ca,
    ALPNProtocols: ["h2"],
  });
  await new Promise((resolve) => socket.once("secureConnect", resolve));
  const clock = new SimClock();
  let closed: boolean | undefined;
  const connection = new H2Connection({
    origin,
    socket,
    marks: MARKS,
    clock,
    events: {
      onFreed: () => undefined,
      onDraining: () => undefined,
      onRefusesH2: () => undefined,
      onClosed: (_connection, byPeer) => {
        closed = byPeer;
      },
    },
  });
  onTestFinished(async () => {
    connection.close();
    await upstream.close();
  });
  const broken = new Promise<BreakKind>((resolve) => {
    const nothing = (): void => undefined;
    const sink = { head: nothing, bytes: nothing, end: nothing, broken: resolve };
    connection.begin(true).send({ ...REQUEST, headers: [] }, sink);
  });
  await until(() => upstream.calls.length === 1);
  // Its settings and their acknowledgement have been read.
  await new Promise((resolve) => setTimeout(resolve, 50));
  return { upstream, clock, connection, broken, closed: () => closed };
}

describe("H2Connection", () => {
  it("asks a silent upstream after 20 s whether it is there, and goes on if it is", async () => {
    const { upstream, clock, connection, closed } = await connected(true);
    clock.runSync(20 * US_PER_S);
    await new Promise((resolve) => setTimeout(resolve, 30));
    // The settings were read after the first look was armed: that look counts as life.
    clock.runSync(40 * US_PER_S);
    await until(() => upstream.pings === 1);
    await new Promise((resolve) => setTimeout(resolve, 30));
    clock.runSync(55 * US_PER_S);
    expect([closed(), connection.streams]).toEqual([undefined, 1]);
  });

  it("gives up a connection that answers no ping in 10 s; what was on it breaks", async () => {
    const { upstream, clock, broken, closed } = await connected(false);
    clock.runSync(20 * US_PER_S);
    clock.runSync(40 * US_PER_S);
    await until(() => upstream.pings === 1);
    clock.runSync(50 * US_PER_S);
    expect(await broken).toBe("cut");
    await until(() => closed() === true);
  });
});
