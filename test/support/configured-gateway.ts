/** A gateway by a configuration file, as `manx gateway --config` runs it; closed when the test ends. */
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { onTestFinished } from "vitest";
import { type GatewayConfig, readGatewayConfig } from "../../src/gateway/config/index.ts";
import { type Gateway, type GatewayParts, startConfigured } from "../../src/gateway/index.ts";

export interface ConfiguredGateway {
  readonly gateway: Gateway;
  /** Writes another `gateway` section and runs by it. */
  reload(section: object): Promise<void>;
  /** What a `gateway` section is read as. */
  read(section: object): Promise<GatewayConfig>;
}

/** @param section the file's `gateway` section; the port is any free one. */
export async function configuredGateway(
  section: object,
  env: Record<string, string> = {},
  parts: GatewayParts = {},
): Promise<ConfiguredGateway> {
  const folder = mkdtempSync(join(tmpdir(), "manx-gateway-"));
  const path = join(folder, "manx.config.jsonc");
  const read = async (one: object) => {
    const listen = { host: "127.0.0.1", port: 0 };
    const limits = { drain: "100ms" };
    writeFileSync(path, JSON.stringify({ gateway: { listen, limits, ...one } }));
    return (await readGatewayConfig(path, { env })).config;
  };
  const gateway = await startConfigured(await read(section), parts);
  onTestFinished(async () => {
    await gateway.close();
    rmSync(folder, { recursive: true });
  });
  return { gateway, reload: async (one) => gateway.reload(await read(one)), read };
}
