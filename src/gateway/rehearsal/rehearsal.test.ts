import { createServer } from "node:http";
import { describe, expect, it } from "vitest";
import { SimClock } from "../../clock/index.ts";
import { close, listen } from "../../http/index.ts";
import type { GatewayConfig } from "../config/index.ts";
import { startConfigured } from "../gateway.ts";
import { simpleConfig } from "../simple-config.ts";
import { rehearse } from "./rehearsal.ts";

const NOWHERE = "http://127.0.0.1:9";
const simple = simpleConfig({ upstream: NOWHERE, preconnect: 0 });
const config = { ...simple, listen: { ...simple.listen, rehearsal: 40 } };

describe("a rehearsal", () => {
  it("makes its calls, JSON and streams, and leaves nothing behind", async () => {
    const gateways: Awaited<ReturnType<typeof startConfigured>>[] = [];
    const start = async (staged: GatewayConfig) => {
      expect(staged.upstreams.map(({ urls }) => urls[0])).not.toContain(NOWHERE);
      const gateway = await startConfigured(staged);
      gateways.push(gateway);
      return gateway;
    };
    const done = await rehearse(config, { clock: new SimClock(), start });
    expect(done).toMatchObject({ calls: 40, failed: 0 });
    const [gateway] = gateways;
    expect(gateway!.inFlight()).toBe(0);
    expect(gateway!.connections().open).toBe(0);
  });

  it("keeps no gateway from its start, whatever goes wrong in it", async () => {
    const start = () => Promise.reject(new Error("no"));
    expect(await rehearse(config, { clock: new SimClock(), start })).toMatchObject({
      calls: 0,
      failed: 1,
    });
  });

  it("waits for no limit of a tenant, which is for those who call", async () => {
    const tenant = { tokensPerMinute: 1_000, burstTokens: 1_000, concurrencyMax: 1 };
    const limited = { ...config, admission: { tenant, tenants: { anonymous: tenant } } };
    const start = (staged: GatewayConfig) => startConfigured(staged);
    expect(await rehearse(limited, { clock: new SimClock(), start })).toMatchObject({
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
    const done = rehearse(config, { clock, start });
    await asked;
    await clock.run(60_000_000);
    expect(await done).toMatchObject({ calls: 0, failed: 0 });
    await close(silent, { cutOpen: true });
  });

  it("is in no count of the gateway that it is for", async () => {
    const gateway = await startConfigured(config);
    expect(gateway.rehearsal).toMatchObject({ calls: expect.any(Number), failed: 0 });
    const page = await gateway.metricsText();
    await gateway.close();
    expect(page).not.toMatch(/^manx_\w*requests_total\{.*\} [1-9]/m);
  });

  it("is none for a configuration that wants none", async () => {
    const start = () => Promise.reject(new Error("not to be started"));
    expect(await rehearse(simple, { clock: new SimClock(), start })).toBeNull();
  });
});
