/** What /metrics says of attempts while the call that they belong to still runs. */
import { describe, expect, it, onTestFinished } from "vitest";
import { configuredGateway } from "../support/configured-gateway.ts";
import { answer, call } from "../support/http-call.ts";
import { metric, until } from "../support/live-gateway.ts";
import {
  CHAT_DONE,
  chatText,
  chunk,
  EVENT_STREAM_HEAD,
  type Hit,
  json,
  LAST_CHUNK,
  type Step,
  startReplayServer,
} from "../support/replay-server.ts";

const ASK = JSON.stringify({ model: "m", stream: true, messages: [] });
const BUSY: Step[] = [{ bytes: json(503, { error: { message: "busy", type: "x" } }) }];
/** Begins, and does not end. */
const LONG: Step[] = [{ bytes: EVENT_STREAM_HEAD }, { bytes: chunk(chatText("a")) }];
const SHORT: Step[] = [...LONG, { bytes: chunk(chatText("b", "stop") + CHAT_DONE) + LAST_CHUNK }];
const MUTE: Step[] = [];

async function upstream(script: (hit: Hit) => readonly Step[]): Promise<string> {
  const server = await startReplayServer(script);
  onTestFinished(() => server.close());
  return server.url;
}

/** Two targets, in this order. */
async function twoTargets(
  first: (hit: Hit) => readonly Step[],
  second: (hit: Hit) => readonly Step[],
  policy: object = {},
) {
  const { gateway } = await configuredGateway({
    upstreams: [
      { name: "a", url: await upstream(first) },
      { name: "b", url: await upstream(second) },
    ],
    models: [{ name: "m", targets: ["a", { upstream: "b", order: 1 }] }],
    policies: { default: policy },
  });
  const of = (series: string): Promise<number> => metric(gateway, `manx_gateway_${series}`);
  return { gateway, of, url: `${gateway.url}/v1/chat/completions` };
}

describe("attempts on /metrics", () => {
  it("shows a first try that failed while the second one streams", async () => {
    const { of, url } = await twoTargets(
      () => BUSY,
      () => LONG,
    );
    const open = call(url, { body: ASK });
    await open.head;
    await until(() => open.text().includes('"a"'));
    expect(await of('attempts_total{upstream="a",cause="first",end="status"}')).toBe(1);
    expect(await of('retries_total{reason="failover"}')).toBe(1);
    expect(await of("attempts_total")).toBe(1);
    open.abort();
    await until(async () => (await of("in_flight")) === 0);
    expect(await of('attempts_total{upstream="b",cause="failover",end="abandoned"}')).toBe(1);
    expect(await of("attempts_total")).toBe(2);
    expect(await of("attempt_connections_total")).toBe(2);
    expect(await of("retries_total")).toBe(1);
  });

  it("shows a hedge when it starts, and that it was faster while it streams", async () => {
    let calls = 0;
    const known = 60;
    const { of, url } = await twoTargets(
      () => (++calls <= known ? SHORT : MUTE),
      () => [{ afterMs: 300 }, ...LONG],
      { hedge: { share: 0.5, floor: "20ms" } },
    );
    for (let i = 0; i < known; i += 1) await answer(url, { body: ASK });
    const open = call(url, { body: ASK });
    await until(async () => (await of("hedges_total")) === 1);
    expect(await of('hedges_total{result="started"}')).toBe(1);
    expect(await of('retries_total{reason="hedge"}')).toBe(1);
    expect(open.text()).toBe("");
    await until(() => open.text().includes('"a"'));
    expect(await of('hedges_total{result="won"}')).toBe(1);
    expect(await of('attempts_total{upstream="a",cause="first",end="lost"}')).toBe(1);
    expect(await of('attempts_total{cause="hedge"}')).toBe(0);
    open.abort();
    await until(async () => (await of('attempts_total{cause="hedge",end="abandoned"}')) === 1);
    expect(await of("attempts_total")).toBe(known + 2);
  });

  it("leaves warm-up calls out, whatever becomes of them", async () => {
    const { of, url } = await twoTargets(
      () => BUSY,
      () => SHORT,
    );
    await answer(url, { body: ASK, headers: { "x-manx-purpose": "warm-up" } });
    await until(async () => (await of("warm_up_requests_total")) === 1);
    expect(await of("attempts_total")).toBe(0);
    expect(await of("retries_total")).toBe(0);
  });
});
