/** GW-06 for streams of legacy completions: they are read as those of chats are, and passed on byte for byte. */
import { describe, expect, it } from "vitest";
import { answer } from "../support/http-call.ts";
import { liveGateway, metric, requests, until } from "../support/live-gateway.ts";
import {
  CHAT_DONE,
  chunk,
  EVENT_STREAM_HEAD,
  head,
  LAST_CHUNK,
  type Step,
} from "../support/replay-server.ts";

const ROUTE = '{route="completions"}';

/** As vLLM writes it. */
function piece(text: string, finish: string | null = null): string {
  const choices = [{ index: 0, text, logprobs: null, finish_reason: finish, stop_reason: null }];
  const body = { id: "cmpl-1", object: "text_completion", created: 5, model: "m", choices };
  return `data: ${JSON.stringify(body)}\n\n`;
}

function stream(...parts: [afterMs: number, text: string][]): Step[] {
  return [
    { bytes: EVENT_STREAM_HEAD },
    ...parts.map(([afterMs, text]) => ({ afterMs, bytes: chunk(text) })),
  ];
}

async function played(steps: Step[]) {
  const { gateway } = await liveGateway(() => steps);
  const got = await answer(`${gateway.url}/v1/completions`);
  await until(() => gateway.inFlight() === 0);
  return { gateway, ...got };
}

const START = piece("The ") + piece("answer");
const WHOLE = START + piece("", "stop") + CHAT_DONE;

describe("a stream of completions", () => {
  it("goes through byte for byte, and its TTFT, gaps and stall are known", async () => {
    const { gateway, text, clean } = await played([
      ...stream([0, piece("")], [150, piece("The ")], [1_150, piece("answer")]),
      { bytes: chunk(piece("", "stop") + CHAT_DONE) + LAST_CHUNK },
    ]);
    expect([text, clean]).toEqual([piece("") + WHOLE, true]);
    const ttftS = await metric(gateway, `manx_gateway_ttft_seconds_sum${ROUTE}`);
    expect(ttftS).toBeGreaterThanOrEqual(0.15);
    expect(await metric(gateway, `manx_gateway_itl_seconds_count${ROUTE}`)).toBe(1);
    expect(await metric(gateway, `manx_gateway_stalls_total${ROUTE}`)).toBe(1);
    expect(await requests(gateway, { route: "completions", status: 200, outcome: "ok" })).toBe(1);
  });

  it.each([
    ["cut", START, "fin"],
    ["reset", START, "rst"],
  ] as const)("that is %s before its end is told so, and counted", async (_, start, end) => {
    const { gateway, text, status, clean } = await played([
      ...stream([0, start]),
      { afterMs: 20, end },
    ]);
    expect([status, clean]).toEqual([200, true]);
    expect(text.startsWith(start)).toBe(true);
    expect(text).not.toContain("[DONE]");
    const last = text.slice(start.length).trim().slice("data: ".length);
    expect(JSON.parse(last)).toMatchObject({ error: { code: "MANX_STREAM_INCOMPLETE" } });
    const wanted = { route: "completions", status: 200, outcome: "stream_incomplete" };
    expect(await requests(gateway, wanted)).toBe(1);
  });

  it("that ends without length and without a word of it being the end is no success", async () => {
    const opening = head(200, { "content-type": "text/event-stream", connection: "close" });
    const { text } = await played([{ bytes: opening + START }, { afterMs: 20, end: "fin" }]);
    expect(text).toContain("MANX_STREAM_INCOMPLETE");
  });

  it("that has finished but lacks its terminal frame is passed on as it is, and counted", async () => {
    const parts = START + piece("", "stop");
    const { gateway, text, clean } = await played([...stream([0, parts]), { bytes: LAST_CHUNK }]);
    expect([text, clean]).toEqual([parts, true]);
    expect(await metric(gateway, `manx_gateway_terminal_missing_total${ROUTE}`)).toBe(1);
  });

  it("whose 200 begins with an error gets that error's status", async () => {
    const error = { error: { message: "no such adapter", type: "NotFoundError", code: 404 } };
    const { status, text } = await played([
      ...stream([0, `data: ${JSON.stringify(error)}\n\n`]),
      { bytes: LAST_CHUNK },
    ]);
    expect(status).toBe(404);
    expect(text).toContain("no such adapter");
  });
});
