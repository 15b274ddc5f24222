import { describe, expect, it } from "vitest";
import { realClock } from "../clock/index.ts";
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

  it("is in no count of the gateway that it is for", async () => {
    const listen = { ...config.listen, rehearsal: 20 };
    const gateway = await startConfigured({ ...config, listen });
    const page = await gateway.metricsText();
    await gateway.close();
    expect(page).not.toMatch(/^manx_\w*requests_total\{.*\} [1-9]/m);
  });
});
