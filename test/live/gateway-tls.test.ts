/** TLS to the upstream: who is trusted, and which handshakes are short ones. */
import { randomBytes } from "node:crypto";
import type { ServerResponse } from "node:http";
import { createServer } from "node:https";
import type { AddressInfo } from "node:net";
import { describe, expect, it, onTestFinished } from "vitest";
import {
  EARLY_DATA,
  HANDSHAKE_RECORD,
  PRE_SHARED_KEY,
  recordFlights,
} from "../support/client-hello.ts";
import { configuredGateway } from "../support/configured-gateway.ts";
import { makeCertificate } from "../support/fault-certificate.ts";
import { startH2Upstream } from "../support/h2-upstream.ts";
import { answer } from "../support/http-call.ts";
import { metric, until } from "../support/live-gateway.ts";
import { gatewayTo, trustFile } from "../support/secure-gateway.ts";

const BODY = '{"model":"m"}';

async function upstreamWith(options: Parameters<typeof startH2Upstream>[1] = {}) {
  const upstream = await startH2Upstream(
    ({ stream }) => {
      stream.respond({ ":status": 200, "content-type": "application/json" });
      stream.end('{"over":2}');
    },
    { allowHTTP1: true, ...options },
  );
  upstream.answerH1('{"over":1}');
  onTestFinished(() => upstream.close());
  return upstream;
}

function ask(gateway: { readonly url: string }) {
  return answer(`${gateway.url}/v1/chat/completions`, { body: BODY });
}

describe("connections opened from cold", () => {
  it.each([
    ["HTTP/1.1 in TLS 1.3", "never", "TLSv1.3", '{"over":1}'],
    ["HTTP/1.1 in TLS 1.2", "never", "TLSv1.2", '{"over":1}'],
    ["HTTP/2", "auto", "TLSv1.3", '{"over":2}'],
  ] as const)(
    "%s: one goes the whole way, the others resume its session",
    async (_name, http2, maxVersion, text) => {
      const upstream = await upstreamWith({ maxVersion });
      const { gateway } = await gatewayTo(upstream, { preconnect: 6, http2 });
      await until(() => upstream.connections === 6);
      expect(upstream.resumed).toBe(5);
      expect(gateway.connections()).toMatchObject({ open: 6, warmed: 6, resumed: 5 });
      expect(await metric(gateway, "manx_gateway_upstream_connections_resumed_total")).toBe(5);
      expect((await ask(gateway)).text).toBe(text);
    },
  );

  it("by a burst of requests, are one until it is known that there is no HTTP/2, and then one each", async () => {
    const { cert, key } = makeCertificate();
    let connections = 0;
    const server = createServer({ cert, key }, (request, response) => {
      request.resume();
      // Answered once all are there: nobody can wait for another one's connection.
      waiting.push(response);
      if (waiting.length === 5) for (const one of waiting) one.end("{}");
    });
    const waiting: ServerResponse[] = [];
    server.on("secureConnection", () => {
      connections += 1;
    });
    await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
    onTestFinished(() => {
      server.closeAllConnections();
      server.close();
    });
    const url = `https://127.0.0.1:${(server.address() as AddressInfo).port}`;
    const { gateway } = await gatewayTo({ url, ca: cert }, { preconnect: 0 });
    const answers = await Promise.all(Array.from({ length: 5 }, () => ask(gateway)));
    expect(answers.map(({ status }) => status)).toEqual([200, 200, 200, 200, 200]);
    expect(connections).toBe(5);
    expect(gateway.connections()).toMatchObject({ opened: 5, multiplexed: 0, failed: 0 });
  });
});

describe("a session", () => {
  it("is resumed by the pool that a reload makes", async () => {
    const upstream = await upstreamWith();
    const section = (preconnect: number) => ({
      upstreams: [{ name: "up", url: upstream.url, preconnect, tls: { ca: trusted } }],
      models: [{ name: "*", targets: ["up"] }],
    });
    const trusted = trustFile(upstream.ca);
    const { gateway, reload } = await configuredGateway(section(1));
    await ask(gateway);
    await reload(section(2));
    await until(() => upstream.connections === 3);
    expect(upstream.resumed).toBe(2);
    expect(gateway.connections()).toMatchObject({ opened: 2, resumed: 2 });
  });

  it("that the upstream no longer knows costs one whole handshake, and no request", async () => {
    const upstream = await upstreamWith({ ticketKeys: randomBytes(48) });
    const { gateway } = await gatewayTo(upstream, { preconnect: 0, http2: "never", idle: "50ms" });
    await ask(gateway);
    await until(() => gateway.connections().open === 0);
    expect((await ask(gateway)).headers["x-manx-connection"]).toBe("resumed");
    await until(() => gateway.connections().open === 0);
    upstream.setTicketKeys(randomBytes(48));
    expect((await ask(gateway)).headers["x-manx-connection"]).toBe("new");
    await until(() => gateway.connections().open === 0);
    expect((await ask(gateway)).headers["x-manx-connection"]).toBe("resumed");
  });

  it("is not resumed by an upstream that trusts others, though the address is the same", async () => {
    const upstream = await upstreamWith();
    const of = (name: string, ca: string) => {
      return { name, url: upstream.url, preconnect: 1, tls: { ca: trustFile(ca) } };
    };
    const { gateway } = await configuredGateway({
      upstreams: [of("right", upstream.ca), of("wrong", makeCertificate().cert)],
      models: [
        { name: "m", targets: ["right"] },
        { name: "n", targets: ["wrong"] },
      ],
      policies: { default: { retry: { attempts: 1 } } },
    });
    expect((await ask(gateway)).status).toBe(200);
    const url = `${gateway.url}/v1/chat/completions`;
    const { status, text } = await answer(url, { body: '{"model":"n"}' });
    expect(status).toBe(502);
    expect(text).toContain("DEPTH_ZERO_SELF_SIGNED_CERT");
  });
});

describe("a certificate", () => {
  it("that nobody vouches for is refused: told at the start, and to each call", async () => {
    const upstream = await upstreamWith();
    const { gateway } = await gatewayTo({
      ...upstream,
      url: upstream.url,
      ca: makeCertificate().cert,
    });
    expect(gateway.warning).toMatchObject({ code: "MANX_UPSTREAM_DOWN" });
    expect((await ask(gateway)).status).toBe(502);
    expect(upstream.calls).toHaveLength(0);
  });

  it("for another name is refused, unless that name is configured", async () => {
    const { cert, key } = makeCertificate({ name: "upstream.test" });
    const upstream = await upstreamWith({ cert, key });
    const refused = await gatewayTo({ url: upstream.url, ca: cert });
    expect((await ask(refused.gateway)).text).toContain("ERR_TLS_CERT_ALTNAME_INVALID");
    const tls = { ca: trustFile(cert), serverName: "upstream.test" };
    const trusted = await gatewayTo({ url: upstream.url, ca: cert }, { tls });
    expect((await ask(trusted.gateway)).text).toBe('{"over":2}');
  });
});

describe("early data (0-RTT)", () => {
  it("is never sent: a resumed connection says nothing but its handshake before it has heard the upstream", async () => {
    const upstream = await upstreamWith();
    const recorder = await recordFlights(upstream.url);
    const { gateway } = await gatewayTo({ url: recorder.url, ca: upstream.ca }, { preconnect: 2 });
    await ask(gateway);
    const [first, second] = recorder.flights;
    expect(first!.extensions).not.toContain(PRE_SHARED_KEY);
    expect(second!.extensions).toContain(PRE_SHARED_KEY);
    for (const { extensions, records } of recorder.flights) {
      expect(extensions).not.toContain(EARLY_DATA);
      expect(records).toEqual([HANDSHAKE_RECORD]);
    }
  });
});
