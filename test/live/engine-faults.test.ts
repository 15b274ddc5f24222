/** The live twin's faults as a client meets them on a real socket; after each it serves on, with its memory free. */
import { request as httpRequest, type IncomingMessage } from "node:http";
import { afterEach, describe, expect, it } from "vitest";
import { realClock } from "../../src/clock/index.ts";
import type { EngineServer } from "../../src/engine-server/index.ts";
import {
  clientOf,
  hello,
  metric,
  post,
  startTwin,
  stopTwins,
  until,
} from "../support/live-twin.ts";

afterEach(stopTwins);

interface Heard {
  readonly status: number;
  readonly headers: IncomingMessage["headers"];
  readonly text: string;
  /** `end`: the body is complete; `cut`: it is not; `refused`: there was no answer. */
  readonly ending: "end" | "cut" | "refused";
}

const TOKENS = 8;

/** One answer of eight tokens, to its end whatever that is. */
function ask(server: EngineServer, fault: unknown, stream = true, header?: string): Promise<Heard> {
  const manx = { output_tokens: TOKENS, ...(fault !== undefined && { fault }) };
  const body = JSON.stringify({ messages: hello, stream, manx });
  return new Promise((resolve) => {
    const headers = header === undefined ? {} : { "x-manx-fault": header };
    const url = `${server.url}/v1/chat/completions`;
    let isAnswered = false;
    const call = httpRequest(url, { method: "POST", headers, agent: false }, (response) => {
      isAnswered = true;
      let text = "";
      const settle = (ending: Heard["ending"]) => () =>
        resolve({ status: response.statusCode ?? 0, headers: response.headers, text, ending });
      response.setEncoding("utf8").on("data", (part) => {
        text += part;
      });
      response.on("end", settle("end")).on("error", settle("cut"));
    });
    call.on("error", () => {
      // Once there is an answer, its own end tells the rest.
      if (!isAnswered) resolve({ status: 0, headers: {}, text: "", ending: "refused" });
    });
    call.end(body);
  });
}

/** Events with content in a stream. */
function words(text: string): number {
  return text.split("\n\n").filter((event) => /"content":"[^"]/.test(event)).length;
}

/** The fault was counted once, nothing is left of it, and the next client is served. */
async function expectSound(server: EngineServer, kind: string): Promise<void> {
  const { scheduler } = server.engine;
  await until(() => scheduler.running + scheduler.waiting === 0, "an empty engine");
  expect(scheduler.kv.reservedTokens).toBe(0);
  expect(await metric(server, `manx_engine_faults_total{kind="${kind}"`)).toBe(1);
  const usual = await ask(server, undefined);
  expect([usual.status, usual.ending, words(usual.text)]).toEqual([200, "end", TOKENS]);
  expect(usual.text.endsWith("data: [DONE]\n\n")).toBe(true);
}

describe("a stream", () => {
  it.each(["rst", "fin"])("is cut by %s after three chunks", async (how) => {
    const server = await startTwin();
    const { status, ending, text } = await ask(server, { kind: "cut", after: 3, how });
    expect([status, ending, words(text)]).toEqual([200, "cut", 3]);
    expect(text).not.toMatch(/\[DONE\]|"finish_reason":"/);
    await expectSound(server, "cut");
  });

  it("ends well but too early", async () => {
    const server = await startTwin();
    const { ending, text } = await ask(server, { kind: "cut", after: 3, how: "end" });
    expect([ending, words(text)]).toEqual(["end", 3]);
    expect(text).not.toMatch(/\[DONE\]|"finish_reason":"/);
    await expectSound(server, "cut");
  });

  it("brings an error event in a 200, and then nothing", async () => {
    const server = await startTwin();
    const heard = await ask(server, { kind: "error-in-stream", after: 2, status: 529 });
    expect([heard.status, heard.ending, words(heard.text)]).toEqual([200, "end", 2]);
    const last = heard.text.trimEnd().split("\n\n").at(-1)!.replace("data: ", "");
    expect(JSON.parse(last)).toMatchObject({ error: { type: "overloaded_error" } });
    await expectSound(server, "error-in-stream");
  });

  it("brings a frame that is no JSON, and goes on", async () => {
    const server = await startTwin();
    const { text } = await ask(server, { kind: "malformed-frame", after: 2 });
    const data = text.split("\n\n").flatMap((event) => event.match(/^data: (\{.*)/)?.[1] ?? []);
    const bad = data.filter((json) => {
      try {
        return JSON.parse(json) === undefined;
      } catch {
        return true;
      }
    });
    expect(bad).toHaveLength(1);
    expect(text.endsWith("data: [DONE]\n\n")).toBe(true);
    await expectSound(server, "malformed-frame");
  });

  it("changes its model without a word", async () => {
    const server = await startTwin();
    const { text } = await ask(server, { kind: "model-change", after: 3, model: "cheaper" });
    const models = [...text.matchAll(/"model":"([^"]+)".*"content":"[^"]/g)].map(
      ([, name]) => name,
    );
    expect(models.slice(3)).toEqual(Array(TOKENS - 3).fill("cheaper"));
    expect(new Set(models.slice(0, 3))).toEqual(new Set(["llama-3.1-8b"]));
    await expectSound(server, "model-change");
  });

  it("stalls for as long as asked, with pings if asked, and is whole afterwards", async () => {
    const server = await startTwin();
    const startUs = realClock.nowUs();
    const fault = { kind: "stall", after: 2, for: "300ms", pings: "20ms" };
    const { text, ending } = await ask(server, fault);
    expect(realClock.nowUs() - startUs).toBeGreaterThanOrEqual(300_000);
    expect([ending, words(text)]).toEqual(["end", TOKENS]);
    const [before = "", after = ""] = text.split(/(?:: ping\n\n)+/);
    expect([words(before), words(after)]).toEqual([2, TOKENS - 2]);
    await expectSound(server, "stall");
  });

  it("stalls until the client leaves, its memory long free", async () => {
    const server = await startTwin();
    const manx = { output_tokens: TOKENS, fault: { kind: "stall", after: 2 } };
    const body = JSON.stringify({ messages: hello, stream: true, manx });
    const call = httpRequest(`${server.url}/v1/chat/completions`, { method: "POST" });
    call.on("error", () => undefined);
    let text = "";
    call.on("response", (response) => {
      response.setEncoding("utf8").on("data", (part) => {
        text += part;
      });
      response.on("error", () => undefined);
    });
    call.end(body);
    await until(() => words(text) === 2 && server.engine.scheduler.running === 0, "the stall");
    expect(server.engine.scheduler.kv.reservedTokens).toBe(0);
    call.destroy();
    await expectSound(server, "stall");
  });

  it("drips, and keeps its head back", async () => {
    const server = await startTwin();
    for (const [fault, leastUs] of [
      [{ kind: "slow-drip", after: 0, gap: "30ms" }, TOKENS * 30_000],
      [{ kind: "slow-headers", for: "250ms" }, 250_000],
    ] as const) {
      const startUs = realClock.nowUs();
      const { text, ending } = await ask(server, fault);
      expect(realClock.nowUs() - startUs).toBeGreaterThanOrEqual(leastUs);
      expect([ending, words(text)]).toEqual(["end", TOKENS]);
      await expectSound(server, fault.kind);
    }
  });
});

describe("a whole answer", () => {
  it("is cut, spoilt, delayed, renamed or an error, by the same names", async () => {
    const server = await startTwin();
    const whole = (fault: unknown): Promise<Heard> => ask(server, fault, false);
    expect((await whole({ kind: "cut", after: 2 })).ending).toBe("cut");
    const short = await whole({ kind: "cut", after: 2, how: "end" });
    expect([short.ending, short.text.length]).toEqual(["end", 128]);
    const spoilt = await whole({ kind: "malformed-frame", after: 2 });
    expect(() => JSON.parse(spoilt.text)).toThrow(SyntaxError);
    const { model } = JSON.parse((await whole({ kind: "model-change", model: "b" })).text);
    expect(model).toBe("b");
    expect((await whole({ kind: "error-in-stream", status: 503 })).status).toBe(503);
    const startUs = realClock.nowUs();
    const stalled = await whole({ kind: "stall", after: 1, for: "200ms" });
    expect(realClock.nowUs() - startUs).toBeGreaterThanOrEqual(200_000);
    expect(JSON.parse(stalled.text).usage.completion_tokens).toBe(TOKENS);
    await expectSound(server, "stall");
  });
});

describe("without the engine", () => {
  it.each([
    [429, { retry: "1.5s" }, "retry-after", "2"],
    [429, { retry: "1.5s", form: "ms" }, "retry-after-ms", "1500"],
    [503, {}, "retry-after", undefined],
    [500, {}, "retry-after", undefined],
    [529, {}, "retry-after", undefined],
  ] as const)("answers %i %j", async (status, more, name, value) => {
    const server = await startTwin();
    const heard = await ask(server, { kind: status, ...more });
    expect([heard.status, heard.headers[name]]).toEqual([status, value]);
    expect(JSON.parse(heard.text).error).toMatchObject({ manx_fault: String(status) });
    expect(server.engine.totals.steps).toBe(0);
    await expectSound(server, String(status));
  });

  it("says as a date when to come back, never too early", async () => {
    const server = await startTwin();
    const earliestMs = realClock.wallMs() + 5_000;
    const { headers } = await ask(server, { kind: 429, retry: "5s", form: "date" });
    const saidMs = Date.parse(headers["retry-after"]!);
    expect(saidMs).toBeGreaterThanOrEqual(earliestMs);
    expect(saidMs).toBeLessThan(realClock.wallMs() + 6_000);
  });

  it("gives the official client its typed errors", async () => {
    const client = clientOf(await startTwin());
    const body = { model: "llama-3.1-8b", messages: hello };
    const of = (kind: string) =>
      client.chat.completions.create(body, { headers: { "x-manx-fault": kind } });
    await expect(of("429")).rejects.toMatchObject({ status: 429, code: "rate_limit_exceeded" });
    await expect(of("503")).rejects.toMatchObject({ status: 503 });
    await expect(of("stal")).rejects.toMatchObject({ status: 400, param: "x-manx-fault.kind" });
  });

  it("hangs until the client leaves, and no more at a time than its bound", async () => {
    const server = await startTwin({}, { waitingMax: 2 });
    const leave = new AbortController();
    const body = JSON.stringify({ messages: hello, manx: { fault: { kind: "hang" } } });
    const url = `${server.url}/v1/chat/completions`;
    const hung = [0, 1].map(() => fetch(url, { method: "POST", body, signal: leave.signal }));
    const settled = Promise.allSettled(hung);
    const count = (): Promise<number> => metric(server, 'manx_engine_faults_total{kind="hang"');
    const untilHung = async (times: number): Promise<void> => {
      for (let tries = 0; tries < 500 && (await count()) < times; tries += 1) {
        await new Promise((resolve) => setTimeout(resolve, 5));
      }
      expect(await count()).toBe(times);
    };
    await untilHung(2);
    expect((await post(server, body)).status).toBe(429);
    leave.abort();
    for (const { status } of await settled) expect(status).toBe("rejected");
    expect((await post(server, { messages: hello, max_tokens: 1 })).status).toBe(200);
    expect(server.engine.scheduler.kv.reservedTokens).toBe(0);
    const again = new AbortController();
    const third = fetch(url, { method: "POST", body, signal: again.signal });
    const rejected = expect(third).rejects.toThrow();
    await untilHung(3);
    again.abort();
    await rejected;
  });

  it("refuses connections for a while, lets open streams go on, and comes back on its port", async () => {
    const server = await startTwin();
    const open = post(server, { messages: hello, stream: true, manx: { output_tokens: 200 } });
    await until(() => server.engine.scheduler.running === 1, "a running stream");
    expect((await ask(server, { kind: "refuse", for: "300ms" })).ending).toBe("refused");
    expect((await ask(server, undefined)).ending).toBe("refused");
    expect(words(await (await open).text())).toBe(200);
    let tries = 0;
    while ((await ask(server, undefined)).ending === "refused" && tries < 400) {
      tries += 1;
      await new Promise((resolve) => setTimeout(resolve, 10));
    }
    await expectSound(server, "refuse");
  });

  it("closes while its port is shut, at once and for good", async () => {
    const server = await startTwin();
    await ask(server, { kind: "refuse", for: "100ms" });
    await server.close();
    await new Promise((resolve) => setTimeout(resolve, 250));
    expect((await ask(server, undefined)).ending).toBe("refused");
  });
});

describe("all traffic", () => {
  const statuses = async (seed: number): Promise<number[]> => {
    const faults = [
      { share: 0.3, fault: { kind: "529", retryUs: undefined, form: "seconds" } },
      { share: 0.2, fault: { kind: "500", retryUs: undefined, form: "seconds" } },
    ] as const;
    const server = await startTwin({}, { faults, seed });
    const all: number[] = [];
    for (let i = 0; i < 40; i += 1) all.push((await ask(server, undefined, false)).status);
    const counted = await metric(server, 'manx_engine_faults_total{kind="529"');
    expect(counted).toBe(all.filter((status) => status === 529).length);
    return all;
  };

  it("gets its share of faults, the same ones in every run of a seed", async () => {
    const first = await statuses(5);
    expect(new Set(first)).toEqual(new Set([200, 500, 529]));
    expect(await statuses(5)).toEqual(first);
  });

  it("is spared where a request asks for a fault of its own; the body's comes first", async () => {
    const faults = [{ share: 1, fault: { kind: "hang" } }] as const;
    const server = await startTwin({}, { faults });
    expect((await ask(server, { kind: "503" }, true, "500")).status).toBe(503);
    expect((await ask(server, undefined, true, "cut; after=2; how=end")).ending).toBe("end");
  });
});
