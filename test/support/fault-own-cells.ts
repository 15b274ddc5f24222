/** Cells of the fault matrix whose fault is the caller's, or this gateway's own. */
import { existsSync } from "node:fs";
import { connect } from "node:net";
import { Secret } from "../../src/config/index.ts";
import type { GatewayConfig } from "../../src/gateway/config/index.ts";
import { CALL_POLICY, HEDGE_POLICY } from "../../src/policy/index.ts";
import { ask, type CallerApi } from "./fault-caller.ts";
import {
  closeEarly,
  FAULTY,
  type OwnCell,
  type OwnOptions,
  type OwnWorld,
  timed,
  told,
  within,
} from "./fault-own-world.ts";
import { FULL_TEXT, stepsUntil, streamWire } from "./fault-wire.ts";
import { call } from "./http-call.ts";
import {
  chatText,
  chunk,
  EVENT_STREAM_HEAD,
  type Hit,
  json,
  LAST_CHUNK,
  type Step,
  sleep,
} from "./replay-server.ts";

const CALLERS: readonly CallerApi[] = ["openai", "anthropic"];

/** Leaves once `isReady`. @returns how long after that the last of the upstream's sockets closed. */
function leaver(
  caller: CallerApi,
  isStream: boolean,
  isReady: (world: OwnWorld) => boolean,
): OwnCell["play"] {
  return async (world) => {
    const { gateway, upstream } = world;
    const controller = new AbortController();
    const asked = ask(gateway.url, {
      caller,
      isStream,
      prompt: FAULTY,
      signal: controller.signal,
    });
    await within(() => isReady(world), READY_MS);
    await sleep(20);
    const hits = upstream.hits.length;
    const leftMs = performance.now();
    controller.abort();
    const { thrown } = await asked;
    await within(() => gateway.inFlight() === 0);
    await Promise.all(upstream.hits.filter(({ body }) => body.includes(FAULTY)).map(isFree));
    const tookMs = performance.now() - leftMs;
    // No attempt begins after that.
    await sleep(60);
    const more = upstream.hits.length - hits;
    const isAbort = (thrown as Error | undefined)?.constructor.name === "APIUserAbortError";
    const text = await gateway.metricsText();
    const isCounted = text.includes('outcome="client_cancelled"} 1');
    if (more === 0 && (isAbort || isStream) && isCounted) return { seen: "left", tookMs };
    return { seen: `${more} attempts more, ${String(thrown)}, counted: ${isCounted}`, tookMs };
  };
}

/** A connection that goes back to its pool is free as well. */
async function isFree({ closed, writtenMs }: Hit): Promise<unknown> {
  return Promise.race([closed, sleep(writtenMs.length === 0 ? 2_000 : 1_000)]);
}

const isAsked = ({ upstream }: OwnWorld): boolean => upstream.hits.length > 0;
const isTwice = ({ upstream }: OwnWorld): boolean =>
  upstream.hits.filter(({ body }) => body.includes(FAULTY)).length > 1;
/** A hedge comes late where the calls before it were slow. */
const READY_MS = 10_000;
/** Fewer calls say nothing about when one is late. */
const HEDGE_AFTER_CALLS = 25;
/** On a machine that is busy, two late calls in a row look like a slowdown of everything, which is not hedged. */
const CALM_CALLS = 5;
const CALLS_MAX = 100;

function hedgeLeaver(caller: CallerApi): OwnCell["play"] {
  return async (world) => {
    const tookMs: number[] = [];
    for (let calm = 0; tookMs.length < HEDGE_AFTER_CALLS || calm < CALM_CALLS; ) {
      if (tookMs.length >= CALLS_MAX) break;
      const startMs = performance.now();
      await ask(world.gateway.url, { caller, isStream: true, prompt: "be fine" });
      tookMs.push(performance.now() - startMs);
      const median = [...tookMs].sort((a, b) => a - b)[tookMs.length >> 1]!;
      calm = tookMs.at(-1)! <= 1.5 * median ? calm + 1 : 0;
    }
    return leaver(caller, true, isTwice)(world);
  };
}

function leavingCells(caller: CallerApi): OwnCell[] {
  const api = caller;
  const at = (phase: "head" | "before" | "after") => () => stepsUntil(api, true, phase);
  const cell = (
    name: string,
    play: OwnCell["play"],
    script: OwnCell["script"],
    options: OwnOptions = {},
  ): OwnCell => ({
    name: `the ${caller} client leaves ${name}`,
    expected: "left",
    limitMs: 50,
    play,
    script,
    options,
  });
  return [
    cell("before the head", leaver(caller, true, isAsked), at("head")),
    cell("before content", leaver(caller, true, isAsked), at("before")),
    cell("after content", leaver(caller, true, isAsked), at("after")),
    cell("before a whole answer", leaver(caller, false, isAsked), () => []),
    cell("in the middle of one", leaver(caller, false, isAsked), () =>
      stepsUntil(api, false, "before"),
    ),
    cell("during a pause before a retry", leaver(caller, true, isAsked), () => [
      { bytes: json(503, {}, { "retry-after": "5", connection: "close" }), end: "fin" },
    ]),
    cell("while a hedge runs", hedgeLeaver(caller), at("before"), {
      policy: { hedge: { ...HEDGE_POLICY, share: 1 } },
    }),
  ];
}

function deadlineCells(caller: CallerApi): OwnCell[] {
  return (["head", "before", "after"] as const).map((phase) => ({
    name: `a deadline that comes ${phase === "after" ? "after" : "before"} content (${phase}), ${caller}`,
    expected: phase === "after" ? "in-band" : "status 504",
    limitMs: 300,
    script: () => stepsUntil(caller, true, phase),
    play: ({ gateway }) =>
      timed(
        caller,
        ask(gateway.url, {
          caller,
          isStream: true,
          prompt: FAULTY,
          headers: { "x-manx-deadline-ms": "300" },
        }),
      ),
  }));
}

function crowdedCells(caller: CallerApi): OwnCell[] {
  const one = { caller, isStream: true, prompt: FAULTY };
  const holding = () => [...stepsUntil(caller, true, "after"), { afterMs: 400 }, ...rest(caller)];
  const second: OwnCell["play"] = async ({ gateway, upstream }) => {
    const first = ask(gateway.url, one);
    await upstream.hit(1);
    const asked = await timed(caller, ask(gateway.url, one));
    const isFirstWhole = (await first).text === FULL_TEXT;
    return isFirstWhole ? asked : { ...asked, seen: "the first call suffered" };
  };
  return [
    {
      name: `no connection left, ${caller}`,
      expected: "status 429",
      limitMs: 50,
      script: holding,
      options: { places: 9, limits: { connections: 1 } },
      play: second,
    },
    {
      name: `no place for ${caller} within its deadline`,
      expected: "status 504",
      limitMs: 150,
      script: holding,
      play: async ({ gateway, upstream }) => {
        const first = ask(gateway.url, one);
        await upstream.hit(1);
        const headers = { "x-manx-deadline-ms": "100" };
        const asked = await timed(caller, ask(gateway.url, { ...one, headers }));
        await first;
        return asked;
      },
    },
    {
      name: `the gateway goes, ${caller}`,
      expected: "in-band",
      limitMs: 150,
      script: () => stepsUntil(caller, true, "after"),
      play: async ({ gateway, upstream }) => {
        const asked = ask(gateway.url, one);
        await upstream.hit(1);
        await sleep(30);
        const closing = closeEarly(gateway);
        const seen = await timed(caller, asked);
        await closing;
        return seen;
      },
    },
  ];
}

function rest(caller: CallerApi): Step[] {
  const { second, ending } = streamWire(caller);
  return [{ bytes: chunk(second) }, { bytes: chunk(ending) }, { bytes: LAST_CHUNK }];
}

const RELOADS: readonly [string, (config: GatewayConfig) => GatewayConfig][] = [
  [
    "authorities that cannot be read",
    (config) => ({
      ...config,
      upstreams: config.upstreams.map((one) => ({
        ...one,
        tls: { caPath: "/nowhere/ca.pem", serverName: null },
      })),
    }),
  ],
  [
    "a key file that is not there",
    (config) => ({ ...config, keys: { source: "file", path: "/nowhere/keys" } }),
  ],
];

/** The stream that runs goes on, and the next call is served as before. */
const RELOAD_CELLS: OwnCell[] = RELOADS.map(([name, broken]) => ({
  name: `a reload with ${name}`,
  expected: "whole",
  limitMs: 500,
  script: () => [...stepsUntil("openai", true, "after"), { afterMs: 200 }, ...rest("openai")],
  play: async ({ gateway, upstream, config }) => {
    const sinceMs = performance.now();
    const asked = ask(gateway.url, { caller: "openai", isStream: true, prompt: FAULTY });
    await upstream.hit(1);
    const refused = await gateway.reload(broken(config)).then(
      () => false,
      () => true,
    );
    const seen = told("openai", await asked);
    return { seen: refused ? seen : "was taken", tookMs: performance.now() - sinceMs };
  },
}));

/** What this gateway leans on and can do without. */
const PROPS: readonly [string, Partial<GatewayConfig>][] = [
  [
    "a shared state that is not there",
    { state: new Secret("redis://127.0.0.1:9", "state", { env: {}, folder: "." }) },
  ],
  // A disk that is always full, where the system has one.
  [
    "an access log on a full disk",
    { log: { access: existsSync("/dev/full") ? { path: "/dev/full" } : "off", client: false } },
  ],
  [
    "a collector of traces that is not there",
    {
      otlp: {
        ...{ url: "http://127.0.0.1:9", headers: {}, share: 1, slowUs: 0 },
        names: "current",
      },
    },
  ],
];

const PROP_CELLS: OwnCell[] = PROPS.map(([name, config]) => ({
  name,
  expected: "whole",
  limitMs: 400,
  script: () => [...stepsUntil("openai", true, "after"), { afterMs: 200 }, ...rest("openai")],
  options: { config },
  play: ({ gateway }) =>
    timed("openai", ask(gateway.url, { caller: "openai", isStream: true, prompt: FAULTY })),
}));

/** 8 MiB of text, so that no buffer on the way holds it. */
const LARGE = Buffer.from(chatText("x".repeat(64 * 1024)));
const LARGE_FRAMES = 128;
const large: OwnCell["script"] = () => [
  { bytes: EVENT_STREAM_HEAD },
  { bytes: chunk(streamWire("openai").preamble + streamWire("openai").first) },
  ...Array.from({ length: LARGE_FRAMES }, () => ({ bytes: chunk(LARGE) })),
  ...rest("openai"),
];
const streamBody = `{"model":"m","stream":true,"messages":[{"role":"user","content":"${FAULTY}"}]}`;
const gaps = { ...CALL_POLICY.timeouts, lifeGapUs: 1_000_000, progressGapUs: 1_000_000 };

const READER_CELLS: OwnCell[] = [
  {
    name: "a client that reads nothing for longer than every gap, then all",
    expected: "whole",
    limitMs: 2_000,
    script: large,
    options: { policy: { timeouts: gaps } },
    play: async ({ gateway }) => {
      const sinceMs = performance.now();
      const made = call(`${gateway.url}/v1/chat/completions`, { body: streamBody, paused: true });
      const response = await made.head;
      await sleep(1_500);
      response.resume();
      const { clean } = await made.ended;
      const text = made.text();
      const isWhole = clean && text.endsWith("data: [DONE]\n\n");
      const sizes = LARGE.length * LARGE_FRAMES;
      const seen = isWhole && text.length > sizes ? "whole" : `${text.length} bytes`;
      return { seen, tookMs: performance.now() - sinceMs };
    },
  },
  {
    name: "a client that never reads",
    expected: "given up",
    limitMs: 400,
    script: large,
    options: { limits: { writeUs: 300_000 } },
    play: async ({ gateway, upstream }) => {
      const sinceMs = performance.now();
      const made = call(`${gateway.url}/v1/chat/completions`, { body: streamBody, paused: true });
      await made.head;
      await within(() => gateway.inFlight() === 0, 5_000);
      await upstream.hits[0]!.closed;
      const tookMs = performance.now() - sinceMs;
      made.abort();
      const isCounted = (await gateway.metricsText()).includes('outcome="client_stalled"} 1');
      return { seen: isCounted ? "given up" : "something else", tookMs };
    },
  },
  {
    name: "a client that shuts its sending side",
    expected: "left",
    limitMs: 100,
    script: () => stepsUntil("openai", true, "after"),
    play: async ({ gateway, upstream }) => {
      const socket = connect(Number(new URL(gateway.url).port), "127.0.0.1");
      socket.on("error", () => undefined);
      socket.resume();
      const head = `POST /v1/chat/completions HTTP/1.1\r\nhost: x\r\ncontent-length: ${streamBody.length}\r\n\r\n`;
      socket.write(head + streamBody);
      const hit = await upstream.hit(1);
      await sleep(20);
      const sinceMs = performance.now();
      socket.end();
      await hit.closed;
      const tookMs = performance.now() - sinceMs;
      socket.destroy();
      return { seen: "left", tookMs };
    },
  },
];

export const OWN_CELLS: readonly OwnCell[] = [
  ...CALLERS.flatMap(leavingCells),
  ...CALLERS.flatMap(deadlineCells),
  ...CALLERS.flatMap(crowdedCells),
  ...RELOAD_CELLS,
  ...PROP_CELLS,
  ...READER_CELLS,
];
