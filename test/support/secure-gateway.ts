/** A gateway in front of upstreams with TLS, whose own certificates it trusts; everything is closed when the test ends. */
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import type { SecureServerOptions } from "node:http2";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { onTestFinished } from "vitest";
import { configuredGateway } from "./configured-gateway.ts";
import { type FrameCall, type FrameUpstream, startFrameUpstream } from "./h2-frames.ts";
import { type H2Call, type H2Upstream, startH2Upstream } from "./h2-upstream.ts";

/** @returns path of a file with it, for `tls.ca`; removed when the test ends. */
export function trustFile(pem: string): string {
  const folder = mkdtempSync(join(tmpdir(), "manx-trust-"));
  onTestFinished(() => rmSync(folder, { recursive: true }));
  const path = join(folder, "ca.pem");
  writeFileSync(path, pem);
  return path;
}

/** @param upstream more of the upstream's section. */
export function gatewayTo(
  { url, ca }: { readonly url: string; readonly ca: string },
  upstream: object = {},
  rest: object = {},
) {
  const section = { name: "up", url, preconnect: 1, tls: { ca: trustFile(ca) }, ...upstream };
  return configuredGateway({
    upstreams: [section],
    models: [{ name: "*", targets: ["up"] }],
    ...rest,
  });
}

export interface H2Gateway<Upstream = H2Upstream> {
  readonly upstream: Upstream;
  readonly gateway: Awaited<ReturnType<typeof configuredGateway>>["gateway"];
  readonly chatUrl: string;
}

export async function h2Gateway(
  play: (call: H2Call) => void,
  options: {
    readonly server?: SecureServerOptions;
    readonly upstream?: object;
    readonly rest?: object;
  } = {},
): Promise<H2Gateway> {
  const upstream = await startH2Upstream(play, options.server);
  onTestFinished(() => upstream.close());
  const { gateway } = await gatewayTo(upstream, options.upstream, options.rest);
  return { upstream, gateway, chatUrl: `${gateway.url}/v1/chat/completions` };
}

export async function frameGateway(
  play: (call: FrameCall) => void,
  rest: object = {},
): Promise<H2Gateway<FrameUpstream>> {
  const upstream = await startFrameUpstream(play);
  onTestFinished(() => upstream.close());
  const { gateway } = await gatewayTo(upstream, {}, rest);
  return { upstream, gateway, chatUrl: `${gateway.url}/v1/chat/completions` };
}
