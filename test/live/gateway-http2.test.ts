/** An upstream with HTTP/2: one connection for many requests, and every promise of HTTP/1.1 kept on it. */
import { constants, sensitiveHeaders } from "node:http2";
import { describe, expect, it } from "vitest";
import { H2_EVENTS, type H2Call } from "../support/h2-upstream.ts";
import { answer, call } from "../support/http-call.ts";
import { until } from "../support/live-gateway.ts";
import { CHAT_DONE, chatText, sleep } from "../support/replay-server.ts";
import { h2Gateway } from "../support/secure-gateway.ts";

const { NGHTTP2_CANCEL } = constants;
const WHOLE = `${chatText("Hel")}${chatText("lo", "stop")}${CHAT_DONE}`;

/** Streams it in three writes. */
function stream({ stream }: H2Call): void {
  stream.respond(H2_EVENTS);
  stream.write(chatText("Hel"));
  setTimeout(() => {
    stream.write(chatText("lo", "stop"));
    stream.end(CHAT_DONE);
  }, 10);
}

function begin({ stream }: H2Call): void {
  stream.respond(H2_EVENTS);
  stream.write(chatText("Hel"));
}

/** Streams to nobody before `count` requests are there at a time. @param after so many that are answered at once. */
function allAt(count: number, after = 0): (call: H2Call) => void {
  const waiting: H2Call[] = [];
  return (made) => {
    if (made.number <= after) {
      stream(made);
      return;
    }
    waiting.push(made);
    if (waiting.length === count) for (const one of waiting) stream(one);
  };
}

describe("one connection", () => {
  it("carries 50 requests at a time, each with its own answer", async () => {
    const { chatUrl, upstream, gateway } = await h2Gateway(({ stream, body }) => {
      stream.respond(H2_EVENTS);
      setTimeout(() => stream.end(`${chatText(body.slice(-12), "stop")}${CHAT_DONE}`), 30);
    });
    const bodies = Array.from(
      { length: 50 },
      (_, i) => `{"stream":true,"user":"number ${i + 10}"}`,
    );
    const answers = await Promise.all(bodies.map((body) => answer(chatUrl, { body })));
    expect(answers.map(({ text }) => text)).toEqual(
      bodies.map((body) => `${chatText(body.slice(-12), "stop")}${CHAT_DONE}`),
    );
    expect(upstream.connections).toBe(1);
    expect(gateway.connections()).toMatchObject({ opened: 1, multiplexed: 1, reused: 50 });
    await until(() => gateway.connections().idle === 1);
  });

  it("is shared by requests that come while it is being opened, cold", async () => {
    const { chatUrl, upstream, gateway } = await h2Gateway(stream, { upstream: { preconnect: 0 } });
    const answers = await Promise.all(Array.from({ length: 20 }, () => answer(chatUrl)));
    expect(answers.map(({ status, clean }) => [status, clean])).toEqual(
      new Array(20).fill([200, true]),
    );
    expect(upstream.connections).toBe(1);
    expect(gateway.connections()).toMatchObject({ opened: 1, failed: 0 });
  });

  it("is spread over as many as are kept open, so that a lost packet stops a part", async () => {
    const { chatUrl, upstream } = await h2Gateway(allAt(30), { upstream: { preconnect: 3 } });
    await Promise.all(Array.from({ length: 30 }, () => answer(chatUrl)));
    expect([upstream.connections, upstream.streamsMost]).toEqual([3, 10]);
  });

  it("never has more requests than the upstream allows; another one takes the rest", async () => {
    const { chatUrl, upstream } = await h2Gateway(allAt(7, 1), {
      server: { settings: { maxConcurrentStreams: 2 } },
    });
    // Its settings are there once a first request has been answered.
    await answer(chatUrl);
    const answers = await Promise.all(Array.from({ length: 7 }, () => answer(chatUrl)));
    expect(answers.every(({ status, clean }) => status === 200 && clean)).toBe(true);
    expect([upstream.connections, upstream.streamsMost]).toEqual([4, 2]);
  });

  it("has no more requests in all than are configured", async () => {
    const { chatUrl } = await h2Gateway(allAt(2), { upstream: { connections: 2 } });
    const first = answer(chatUrl);
    await sleep(50);
    // The second would be answered with the first, so the third comes while both are there.
    const [second, third] = [answer(chatUrl), answer(chatUrl)];
    const statuses = (await Promise.all([first, second, third])).map(({ status }) => status);
    expect(statuses.sort()).toEqual([200, 200, 429]);
  });

  it("has nothing hop-by-hop on it, keeps repeated headers, and no key in a table of headers", async () => {
    const { chatUrl, upstream } = await h2Gateway(({ stream }) => {
      stream.respond({
        ":status": 200,
        "content-type": "application/json",
        "set-cookie": ["a=1", "b=2"],
      });
      stream.end('{"ok":true}');
    });
    const headers = {
      connection: "keep-alive, x-hop",
      "x-hop": "1",
      te: "trailers",
      "X-Kept": "Yes",
      authorization: "Bearer secret",
    };
    const got = await answer(chatUrl, { headers, body: "{}" });
    expect([got.status, got.text, got.headers["set-cookie"]]).toEqual([
      200,
      '{"ok":true}',
      ["a=1", "b=2"],
    ]);
    const [hit] = upstream.calls;
    expect(hit!.headers).toMatchObject({
      ":authority": new URL(upstream.url).host,
      ":path": "/v1/chat/completions",
      "x-kept": "Yes",
      authorization: "Bearer secret",
      "content-length": "2",
    });
    for (const gone of ["connection", "x-hop", "te", "host"]) {
      expect(hit!.headers[gone]).toBeUndefined();
    }
    // What every hop is told not to keep.
    const never = (hit!.headers as { [sensitiveHeaders]?: string[] })[sensitiveHeaders];
    expect(never).toEqual(["authorization"]);
  });

  it("shows its stages to the call that waited for it, and to no other", async () => {
    const { chatUrl } = await h2Gateway(stream, { upstream: { preconnect: 0 } });
    const first = await answer(chatUrl);
    const second = await answer(chatUrl);
    const timing = ({ headers }: typeof first) => headers["server-timing"];
    expect(first.headers["x-manx-connection"]).toBe("new");
    expect(timing(first)).toMatch(/dns;dur=0.000, tcp;dur=[\d.]+, tls;dur=[\d.]+, upstream;dur=/);
    expect(second.headers["x-manx-connection"]).toBe("reused");
    expect(timing(second)).not.toMatch(/dns|tcp|tls/);
  });
});

describe("a caller", () => {
  it("that leaves resets its stream at once, and nobody else's", async () => {
    const resets: number[] = [];
    const { chatUrl, upstream, gateway } = await h2Gateway((made) => {
      begin(made);
      made.stream.once("close", () => resets.push(made.stream.rstCode));
      if (made.number === 2) setTimeout(() => made.stream.end(CHAT_DONE), 300);
    });
    const leaver = call(chatUrl);
    await until(() => leaver.text() !== "");
    const stayer = call(chatUrl);
    await until(() => stayer.text() !== "");
    const leftMs = performance.now();
    leaver.abort();
    await until(() => resets.length === 1);
    expect(resets).toEqual([NGHTTP2_CANCEL]);
    expect(performance.now() - leftMs).toBeLessThan(250);
    expect((await stayer.ended).clean).toBe(true);
    expect(stayer.text()).toContain("[DONE]");
    expect(upstream.connections).toBe(1);
    expect(gateway.connections()).toMatchObject({ open: 1, opened: 1 });
  });

  it("that does not read stops its own stream within a bounded number of bytes, and no other's", async () => {
    const line = chatText("x".repeat(16 * 1024));
    let written = 0;
    const { chatUrl, upstream, gateway } = await h2Gateway((made) => {
      if (made.number > 1) {
        stream(made);
        return;
      }
      made.stream.respond(H2_EVENTS);
      const fill = (): void => {
        while (!made.stream.destroyed) {
          written += line.length;
          if (!made.stream.write(line)) break;
        }
      };
      made.stream.on("drain", fill);
      fill();
    });
    const slow = call(chatUrl, { paused: true });
    await slow.head;
    let before = -1;
    await until(async () => {
      const same = before === written;
      before = written;
      await sleep(50);
      return same;
    });
    // The stream's window, what the sockets between hold, and no more.
    expect(written).toBeLessThan(16 * 1024 * 1024);
    const others = await Promise.all(Array.from({ length: 49 }, () => answer(chatUrl)));
    expect(others.map(({ text }) => text)).toEqual(new Array(49).fill(WHOLE));
    expect(upstream.connections).toBe(1);
    const stopped = written;
    (await slow.head).resume();
    await until(() => written > stopped + 1024 * 1024);
    slow.abort();
    await until(() => gateway.connections().idle === 1);
  });
});
