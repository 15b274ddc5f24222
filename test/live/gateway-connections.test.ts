/** Connections: kept, opened ahead, shown to be open, and nobody's end of one ends another. */
import { connect } from "node:net";
import { describe, expect, it } from "vitest";
import { answer } from "../support/http-call.ts";
import { liveGateway, metric, requests, until } from "../support/live-gateway.ts";
import { head, json, type Step, sleep } from "../support/replay-server.ts";

const ok: Step[] = [{ bytes: json(200, { ok: true }) }];

describe("reuse", () => {
  it("serves 20 calls of clients that say Connection: close on one upstream connection", async () => {
    const { chatUrl, upstream, gateway } = await liveGateway(() => ok, { preconnect: 0 });
    const marks: unknown[] = [];
    for (let i = 0; i < 20; i += 1) {
      const headers = { connection: "close, x-hop", "x-hop": "1", "keep-alive": "timeout=1" };
      const { status, headers: got } = await answer(chatUrl, { headers });
      expect(status).toBe(200);
      marks.push(got["x-manx-connection"]);
    }
    expect(upstream.connections).toBe(1);
    expect(gateway.connections()).toMatchObject({ open: 1, opened: 1, reused: 19 });
    expect(marks).toEqual(["new", ...new Array(19).fill("reused")]);
    for (const { headers } of upstream.hits) {
      expect(headers.connection).toBe("keep-alive");
      expect(headers["x-hop"]).toBeUndefined();
      expect(headers["keep-alive"]).toBeUndefined();
      expect(headers.host).toBe(new URL(upstream.url).host);
    }
  });

  it("does not pass an upstream's Connection: close on to the client", async () => {
    const closing = json(200, {}).replace("\r\n", "\r\nConnection: close\r\n");
    const { gateway, upstream } = await liveGateway(() => [{ bytes: closing, end: "fin" }]);
    const port = Number(new URL(gateway.url).port);
    const socket = connect(port, "127.0.0.1");
    let text = "";
    socket.on("data", (part: Buffer) => {
      text += part.toString("latin1");
    });
    for (let i = 1; i <= 5; i += 1) {
      socket.write("POST /v1/embeddings HTTP/1.1\r\nhost: x\r\ncontent-length: 2\r\n\r\n{}");
      await until(() => text.split("HTTP/1.1 200").length - 1 === i && text.endsWith("{}"));
    }
    expect(socket.destroyed).toBe(false);
    expect(upstream.hits).toHaveLength(5);
    socket.destroy();
  });

  it("takes a connection that is open rather than open another", async () => {
    const { chatUrl, gateway } = await liveGateway(() => ok, { preconnect: 3 });
    expect(gateway.connections()).toMatchObject({ open: 3, idle: 3, warmed: 3, reused: 0 });
    for (let i = 0; i < 5; i += 1) await answer(chatUrl);
    expect(gateway.connections()).toMatchObject({ open: 3, idle: 3, opened: 3, reused: 5 });
    expect(await metric(gateway, "manx_gateway_upstream_connections_opened_total")).toBe(3);
    expect(await metric(gateway, "manx_gateway_upstream_requests_on_warm_total")).toBe(5);
  });

  it("opens what it keeps warm again when the upstream closes it, and does not hand out a dead one", async () => {
    const { chatUrl, gateway, upstream } = await liveGateway(() => ok, { preconnect: 2 });
    // A connection is open for us a moment before the upstream has accepted it.
    await until(() => upstream.openConnections === 2);
    upstream.cutAll("fin");
    await until(() => gateway.connections().open === 0);
    expect((await answer(chatUrl)).status).toBe(200);
    await until(() => gateway.connections().idle === 2);
    expect(gateway.connections()).toMatchObject({ open: 2, failed: 0 });
  });

  it("drops an idle connection on which the upstream speaks unasked", async () => {
    const { chatUrl, gateway, upstream } = await liveGateway(
      (hit) =>
        hit.connection === 1 ? [...ok, { afterMs: 20, bytes: json(200, { stale: 1 }) }] : ok,
      { preconnect: 0 },
    );
    expect((await answer(chatUrl)).text).toBe('{"ok":true}');
    await until(() => gateway.connections().open === 0);
    expect((await answer(chatUrl)).text).toBe('{"ok":true}');
    expect(upstream.connections).toBe(2);
  });

  it("drops one that never had a request as well, before its bytes can pass for an answer", async () => {
    const { chatUrl, gateway, upstream } = await liveGateway(() => ok, { preconnect: 1 });
    await until(() => upstream.openConnections === 1);
    upstream.sayAll(json(200, { stale: 1 }));
    await until(() => gateway.connections().open === 0);
    expect((await answer(chatUrl)).text).toBe('{"ok":true}');
  });
});

describe("an upstream with a name", () => {
  it("is looked up once, and the call that waited for it is told how long that took", async () => {
    const { upstream } = await liveGateway(() => ok, { preconnect: 0 });
    const { gateway } = await liveGateway(() => ok, {
      upstream: upstream.url.replace("127.0.0.1", "localhost"),
      preconnect: 0,
    });
    const url = `${gateway.url}/v1/chat/completions`;
    const [first, second] = [await answer(url), await answer(url)];
    expect([first.status, second.status]).toEqual([200, 200]);
    expect(first.headers["server-timing"]).toMatch(/dns;dur=(?!0\.000)[\d.]+, tcp;dur=/);
    expect(second.headers["server-timing"]).not.toContain("dns;");
    expect(await metric(gateway, "manx_gateway_upstream_dns_seconds_total")).toBeGreaterThan(0);
  });
});

describe("a kept connection that dies as a request goes out", () => {
  it.each(["fin", "rst"] as const)(
    "by %s costs nothing but a second attempt on a new one",
    async (end) => {
      let served = 0;
      const { chatUrl, gateway, upstream } = await liveGateway(
        (hit) => {
          served += 1;
          return hit.connection === 1 && served > 1 ? [{ end }] : ok;
        },
        { preconnect: 0 },
      );
      expect((await answer(chatUrl)).status).toBe(200);
      const { status, headers } = await answer(chatUrl, { body: '{"again":1}' });
      expect([status, headers["x-manx-attempts"], headers["x-manx-connection"]]).toEqual([
        200,
        "2",
        "new",
      ]);
      expect(upstream.hits.map((hit) => [hit.connection, hit.body])).toEqual([
        [1, '{"stream":true}'],
        [1, '{"again":1}'],
        [2, '{"again":1}'],
      ]);
      expect(await metric(gateway, 'manx_gateway_retries_total{reason="reuse_race"}')).toBe(1);
    },
  );

  it("is not tried again on another that was kept, since that may be dead too", async () => {
    const { chatUrl, gateway, upstream } = await liveGateway(
      (hit) => (hit.connection <= 2 ? [{ end: "rst" }] : ok),
      { preconnect: 2 },
    );
    expect(gateway.connections().idle).toBe(2);
    expect((await answer(chatUrl)).status).toBe(200);
    expect(upstream.hits).toHaveLength(2);
  });

  it("is tried again once, not more, and never on a connection made for the request", async () => {
    let served = 0;
    const { chatUrl, upstream } = await liveGateway(
      () => {
        served += 1;
        return served === 1 ? ok : [{ end: "rst" }];
      },
      { preconnect: 0 },
    );
    await answer(chatUrl);
    expect((await answer(chatUrl)).status).toBe(502);
    expect(upstream.hits).toHaveLength(3);
    expect((await answer(chatUrl)).status).toBe(502);
    expect(upstream.hits).toHaveLength(4);
  });

  it("is not tried again once a byte of the answer has come", async () => {
    let served = 0;
    const opening = head(200, { "content-type": "application/json", "content-length": "9" });
    const { chatUrl, upstream } = await liveGateway(
      () => {
        served += 1;
        return served === 1 ? ok : [{ bytes: opening }, { afterMs: 20, end: "rst" }];
      },
      { preconnect: 0 },
    );
    await answer(chatUrl);
    expect((await answer(chatUrl)).status).toBe(502);
    expect(upstream.hits).toHaveLength(2);
  });
});

describe("how long a connection may be unused", () => {
  async function shownLimit(gateway: { readonly url: string }): Promise<unknown[]> {
    const { text } = await answer(`${gateway.url}/health?verbose`, { method: "GET" });
    const [{ connections }] = JSON.parse(text).upstreams;
    return [connections[0].idleLimitS, connections[0].idleLimitFrom];
  }

  it("is below what the upstream says", async () => {
    const hinting = json(200, { ok: true }, { "keep-alive": "timeout=5" });
    const { chatUrl, gateway } = await liveGateway(() => [{ bytes: hinting }], { preconnect: 0 });
    expect(await shownLimit(gateway)).toEqual([120, "configured"]);
    await answer(chatUrl);
    expect(await shownLimit(gateway)).toEqual([4, "hint"]);
  });

  it("is learnt from a request that was lost", async () => {
    const { chatUrl, gateway } = await liveGateway(
      (hit) => (hit.connection === 1 && hit.body === '{"again":1}' ? [{ end: "rst" }] : ok),
      { preconnect: 0 },
    );
    await answer(chatUrl);
    await sleep(2_000);
    expect((await answer(chatUrl, { body: '{"again":1}' })).status).toBe(200);
    const [limitS, from] = await shownLimit(gateway);
    expect(from).toBe("learnt");
    expect(limitS).toBeGreaterThanOrEqual(1.4);
    expect(await metric(gateway, "manx_gateway_upstream_reuse_races_total")).toBe(1);
  });
});

describe("limits", () => {
  it("answers 429 with Retry-After over the number of upstream connections, and serves again after it", async () => {
    const { chatUrl, gateway } = await liveGateway(() => [{ afterMs: 150, ...ok[0] }], {
      limits: { connections: 2 },
    });
    const [first, second] = [answer(chatUrl), answer(chatUrl)];
    await until(() => gateway.inFlight() === 2);
    const third = await answer(chatUrl);
    expect([third.status, third.headers["retry-after"]]).toEqual([429, "1"]);
    expect(JSON.parse(third.text)).toMatchObject({ error: { code: "MANX_OVERLOADED" } });
    expect([(await first).status, (await second).status]).toEqual([200, 200]);
    expect((await answer(chatUrl)).status).toBe(200);
    expect(await requests(gateway, { status: 429, outcome: "refused" })).toBe(1);
  });

  it("gives up a connection that does not come about, and says so", async () => {
    // It accepts, and then never answers the TLS handshake.
    const { upstream } = await liveGateway(() => [], { preconnect: 0 });
    const { gateway } = await liveGateway(() => [], {
      upstream: upstream.url.replace("http:", "https:"),
      preconnect: 2,
      timeouts: { connectUs: 200_000 },
    });
    expect(gateway.warning).toMatchObject({ code: "MANX_UPSTREAM_DOWN" });
    const { status, text } = await answer(`${gateway.url}/v1/chat/completions`);
    expect([status, JSON.parse(text)]).toEqual([
      504,
      {
        error: expect.objectContaining({
          code: "MANX_UPSTREAM_TIMEOUT",
          message: expect.stringContaining('"connect"'),
        }),
      },
    ]);
    await until(() => upstream.openConnections === 0);
  });

  it("keeps no connection beyond its idle limit", async () => {
    const { chatUrl, gateway, upstream } = await liveGateway(() => ok, {
      preconnect: 0,
      limits: { idleUs: 100_000 },
    });
    await answer(chatUrl);
    await sleep(150);
    await until(() => upstream.openConnections === 0);
    await answer(chatUrl);
    expect(gateway.connections()).toMatchObject({ opened: 2, reused: 0 });
  });
});
