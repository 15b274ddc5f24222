/** A gateway that may have few file descriptors, and more callers than that: it stays up, tells them, and recovers. */
import type { IncomingHttpHeaders } from "node:http";
import { describe, expect, it } from "vitest";
import { isOwnError } from "../../support/fault-caller.ts";
import { startGatewayProcess } from "../../support/fault-process.ts";
import { answer } from "../../support/http-call.ts";
import { until } from "../../support/live-gateway.ts";
import { json, startReplayServer } from "../../support/replay-server.ts";

/** Node itself has some thirty open, and more while it loads its modules. */
const FILES_MAX = 256;
const CALLERS = 280;

/** Where not even the connection could be taken, the system closes it at once. */
function unheard(thrown: NodeJS.ErrnoException) {
  expect(["ECONNRESET", "EPIPE"]).toContain(thrown.code);
  return { status: 0, text: "", headers: {} as IncomingHttpHeaders, clean: false };
}

describe("out of sockets", () => {
  it("refuses in the caller's own format whom it cannot serve, and nobody is kept waiting for ever", async () => {
    let isHolding = true;
    const ok = json(200, { ok: true });
    const upstream = await startReplayServer(() => (isHolding ? [] : [{ bytes: ok }]));
    const gateway = await startGatewayProcess({ upstream: upstream.url, preconnect: 0 }, FILES_MAX);
    const url = `${gateway.url}/v1/chat/completions`;
    let isRefusing = false;
    const asked = Array.from({ length: CALLERS }, async () => {
      const made = await answer(url, { body: '{"model":"m"}' }).catch(unheard);
      isRefusing ||= made.status >= 400;
      return made;
    });
    await until(() => isRefusing);
    isHolding = false;
    upstream.sayAll(ok);
    const made = await Promise.all(asked);
    const served = made.filter(({ status }) => status === 200);
    const refused = made.filter(({ status }) => status >= 400);
    expect(served.length).toBeGreaterThan(0);
    expect(refused.length).toBeGreaterThan(0);
    for (const { status, text, headers } of refused) {
      expect([status, isOwnError("openai", text)], text).toEqual([429, true]);
      expect(Number(headers["retry-after"])).toBeGreaterThanOrEqual(1);
    }
    expect((await answer(url, { body: '{"model":"m"}' })).status).toBe(200);
    expect(await gateway.holds()).toMatchObject({ inFlight: 0, busy: 0 });
    expect([gateway.isAlive(), gateway.stderr()]).toEqual([true, ""]);
    await upstream.close();
  });
});
