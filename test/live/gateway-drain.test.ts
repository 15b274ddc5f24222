/** How the gateway goes: balancers learn of it first, then new work is refused, then what is open ends or is cut. */
import { describe, expect, it } from "vitest";
import { answer, call } from "../support/http-call.ts";
import { liveGateway, until } from "../support/live-gateway.ts";
import { chatText, chunk, EVENT_STREAM_HEAD, json, type Step } from "../support/replay-server.ts";

const GET = { method: "GET" };
const endless: Step[] = [
  { bytes: EVENT_STREAM_HEAD },
  { bytes: chunk(chatText("one ")) },
  { afterMs: 60_000, end: "fin" },
];

/** A gateway with a stream open, that has been told to stop. */
async function leaving(graceUs: number) {
  const live = await liveGateway(
    ({ body }) => (body.includes('"stream":true') ? endless : [{ bytes: json(200, { id: "x" }) }]),
    { limits: { graceUs, drainUs: 60_000_000 } },
  );
  const stream = call(live.chatUrl);
  await stream.head;
  await until(() => stream.text().includes("one"));
  const closed = live.gateway.close();
  return { ...live, stream, closed };
}

describe("a gateway that is told to stop", () => {
  it("says at once that it is not ready, and serves what comes during the grace on connections of its own", async () => {
    const { gateway, chatUrl, stream, closed } = await leaving(60_000_000);
    expect((await answer(`${gateway.url}/ready`, GET)).status).toBe(503);
    expect((await answer(`${gateway.url}/health`, GET)).status).toBe(200);
    const { status, headers } = await answer(chatUrl, { body: "{}" });
    expect([status, headers.connection]).toEqual([200, "close"]);
    gateway.cut();
    await closed;
    expect((await stream.ended).clean).toBe(true);
  });

  it("refuses new connections after the grace, and lets the open stream go on", async () => {
    const { gateway, chatUrl, stream, closed } = await leaving(1_000);
    await until(() =>
      answer(chatUrl, { body: "{}" }).then(
        () => false,
        () => true,
      ),
    );
    expect(gateway.inFlight()).toBe(1);
    gateway.cut();
    await closed;
    await stream.ended;
    expect(stream.text()).toContain('"code":"MANX_DRAINING"');
  });

  it("told again, waits for nothing: the stream ends with an error in band, long before its time to drain", async () => {
    const { gateway, stream, closed } = await leaving(0);
    gateway.cut();
    gateway.cut();
    await closed;
    expect(gateway.close()).toBe(closed);
    expect((await stream.ended).clean).toBe(true);
    expect(stream.text()).toMatch(/one .*MANX_DRAINING/s);
  });
});
