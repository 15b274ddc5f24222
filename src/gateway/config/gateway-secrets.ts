/** All secrets that a configuration names: to read them before the first request needs one, and to tell which are in clear. */
import type { ConfigPath, Secret } from "../../config/index.ts";
import { type ManxError, toManxError } from "../../core/index.ts";
import type { GatewayConfig } from "./gateway-config.ts";

export function secretsOf(config: GatewayConfig): { path: ConfigPath; secret: Secret }[] {
  const { upstreams, admin, otlp, state, guardrails } = config;
  const found: [ConfigPath, Secret | null | undefined][] = [
    ...upstreams.map(({ key }, i): [ConfigPath, Secret | null] => [["upstreams", i, "key"], key]),
    [["admin", "key"], admin?.key],
    ...Object.entries(otlp?.headers ?? {}).map(([name, secret]): [ConfigPath, Secret] => [
      ["otlp", "headers", name],
      secret,
    ]),
    [["state"], state],
    ...guardrails.map((one, i): [ConfigPath, Secret | null] => [
      ["guardrails", i, "key"],
      one.kind === "http" ? one.key : null,
    ]),
  ];
  return found.flatMap(([path, secret]) => (secret ? [{ path, secret }] : []));
}

/** Reads each secret. @returns an error for each that is not there; a gateway with one should not start. */
export function missingSecrets(config: GatewayConfig): ManxError[] {
  return secretsOf(config).flatMap(({ secret }) => {
    try {
      secret.reveal();
      return [];
    } catch (thrown) {
      return [toManxError(thrown)];
    }
  });
}
