import { createServer } from "node:http";
import { describe, expect, it } from "vitest";
import { realClock, SimClock } from "../clock/index.ts";
import { close, listen } from "../http/index.ts";
import type { GatewayConfig } from "./config/index.ts";
import { startConfigured } from "./gateway.ts";
import { rehearse } from "./rehearsal.ts";
import { simpleConfig } from "./simple-config.ts";

const NOWHERE = "http://127.0.0.1:9";
const config = simpleConfig({ upstream: NOWHERE, preconnect: 0 });

describe("a rehearsal", () => {
  it("makes its calls, JSON and streams, and leaves nothing behind", async () => {
    const gateways: Awaited<ReturnType<typeof startConfigured>>[] = [];
    const start = async (staged: GatewayConfig) => {
      expect(staged.upstreams.map(({ urls }) => urls[0])).not.toContain(NOWHERE);
      const gateway = await startConfigured(staged);
      gateways.push(gateway);
      return gateway;
    };
    const done = await rehearse(config, { calls: 40, clock: realClock, start });
    expect(done).toMatchObject({ calls: 40, failed: 0 });
    const [gateway] = gateways;
    expect(gateway!.inFlight()).toBe(0);
    expect(gateway!.connections().open).toBe(0);
  });

  it("keeps no gateway from its start, whatever goes wrong in it", async () => {
    const start = () => Promise.reject(new Error("no"));
    expect(await rehearse(config, { calls: 40, clock: realClock, start })).toMatchObject({
      calls: 0,
      failed: 1,
    });
  });

  it("waits for no limit of a tenant, which is for those who call", async () => {
    const tenant = { tokensPerMinute: 1_000, burstTokens: 1_000, concurrencyMax: 1 };
    const limited = { ...config, admission: { tenant, tenants: { anonymous: tenant } } };
    const start = (staged: GatewayConfig) => startConfigured(staged);
    expect(await rehearse(limited, { calls: 40, clock: realClock, start })).toMatchObject({
      calls: 40,
      failed: 0,
    });
  });

  it("ends when its time is over, though nothing has answered", async () => {
    const clock = new SimClock();
    let isAsked = (): void => {};
    const asked = new Promise<void>((resolve) => {
      isAsked = resolve;
    });
    const silent = createServer(() => isAsked());
    const url = await listen(silent, { port: 0 });
    const start = async (staged: GatewayConfig) => {
      const gateway = await startConfigured(staged);
      return Object.assign(Object.create(gateway) as typeof gateway, {
        url,
        cut: () => gateway.cut(),
        close: () => gateway.close(),
      });
    };
    const done = rehearse(config, { calls: 8, clock, start });
    await asked;
    await clock.run(60_000_000);
    expect(await done).toMatchObject({ calls: 8, failed: 1 });
    await close(silent, { cutOpen: true });
  });

  it("is in no count of the gateway that it is for", async () => {
    const listen = { ...config.listen, rehearsal: 20 };
    const gateway = await startConfigured({ ...config, listen });
    const page = await gateway.metricsText();
    await gateway.close();
    expect(page).not.toMatch(/^manx_\w*requests_total\{.*\} [1-9]/m);
  });
});
