/**
 * What guardrails cost. Run: npm run bench:guardrails [-- --calls 300]
 *
 * 1. A check of the request by a classifier that takes 250 ms, before a model whose first token takes 0.1 to 1.2 s: without
 *    it, before the call (as guardrails are mostly built), and beside it (as the gateway does). Live, on loopback, the three
 *    ways interleaved. The verdict is that of a safety budget of 10 % of a p95 of 2 s.
 * 2. The CPU of one frame of a stream without, and with patterns over windows.
 */
import { createServer, type Server, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { parseArgs } from "node:util";
import { Random, realClock } from "../src/clock/index.ts";
import { GuardedAnswer, type GuardedSide } from "../src/gateway/guardrails/index.ts";
import { PatternChecker } from "../src/gateway/guardrails/pattern-checker.ts";
import { startConfigured } from "../src/gateway/index.ts";
import { findRoute } from "../src/gateway/routes.ts";
import { simpleConfig } from "../src/gateway/simple-config.ts";
import { GUARD_WINDOW } from "../src/policy/index.ts";
import { sampleQuantile } from "../src/stats/index.ts";

const { values } = parseArgs({ options: { calls: { type: "string", default: "300" } } });
const calls = Number(values.calls);
const CHECK_MS = 250;
const SAFETY_BUDGET_MS = 200;
const AT_A_TIME = 8;

async function listen(
  answer: (body: string, response: ServerResponse) => void,
): Promise<[Server, string]> {
  const server = createServer((request, response) => {
    const parts: Buffer[] = [];
    request.on("data", (part: Buffer) => parts.push(part));
    request.on("end", () => answer(Buffer.concat(parts).toString(), response));
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  return [server, `http://127.0.0.1:${(server.address() as AddressInfo).port}`];
}

const chunk = (content: string): string =>
  `data: ${JSON.stringify({ id: "c", object: "chat.completion.chunk", created: 1, model: "m", choices: [{ index: 0, delta: { content }, finish_reason: null }] })}\n\n`;

const [model, modelUrl] = await listen((body, response) => {
  const ttftMs = Number(/ttft (\d+)/.exec(body)?.[1]);
  response.writeHead(200, { "content-type": "text/event-stream" });
  setTimeout(() => response.end(`${chunk("Yes")}${chunk(".")}data: [DONE]\n\n`), ttftMs);
});
const [classifier, classifierUrl] = await listen((_, response) => {
  setTimeout(() => {
    response.writeHead(200, { "content-type": "application/json" });
    response.end('{"verdict":"clean"}');
  }, CHECK_MS);
});

const plain = simpleConfig({ upstream: modelUrl });
const rule = {
  name: "injection",
  stage: "request",
  budgetUs: 1_000_000,
  onFailure: "closed",
} as const;
const always = { when: "always", models: null, scope: "new" } as const;
const check = { ...rule, ...always, kind: "http", url: classifierUrl, key: null } as const;
const without = await startConfigured(plain);
const beside = await startConfigured({ ...plain, guardrails: [check] });

async function ttft(url: string, ttftMs: number): Promise<number> {
  const startUs = realClock.nowUs();
  const messages = [{ role: "user", content: `ttft ${ttftMs}` }];
  const response = await fetch(`${url}/v1/chat/completions`, {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: JSON.stringify({ model: "m", stream: true, messages }),
  });
  await response.body!.getReader().read();
  return (realClock.nowUs() - startUs) / 1_000;
}

async function serial(ttftMs: number): Promise<number> {
  const startUs = realClock.nowUs();
  await (await fetch(classifierUrl, { method: "POST", body: "{}" })).json();
  return (realClock.nowUs() - startUs) / 1_000 + (await ttft(without.url, ttftMs));
}

const ways = {
  "no check": (ttftMs: number) => ttft(without.url, ttftMs),
  "before the call": serial,
  "beside the call": (ttftMs: number) => ttft(beside.url, ttftMs),
} as const;
const seen = new Map<string, number[]>(Object.keys(ways).map((name) => [name, []]));
const added = new Map<string, number[]>(Object.keys(ways).map((name) => [name, []]));
const random = new Random(1, "ttft");
for (let done = 0; done < calls; done += AT_A_TIME) {
  await Promise.all(
    Array.from({ length: AT_A_TIME }, async () => {
      const ttftMs = 100 + random.int(1_100);
      for (const [name, way] of Object.entries(ways)) {
        const ms = await way(ttftMs);
        seen.get(name)!.push(ms);
        added.get(name)!.push(ms - ttftMs);
      }
    }),
  );
}
const quantile = (list: readonly number[], q: number): number =>
  sampleQuantile(
    [...list].sort((a, b) => a - b),
    q,
  ).value;
const at = (list: readonly number[], q: number): string => quantile(list, q).toFixed(0).padStart(6);
console.log(
  `A check of ${CHECK_MS} ms, ${calls} calls each way, TTFT 100 to 1,200 ms; times in ms\n`,
);
console.log("                  TTFT p50    p95   added p50    p95   of a safety budget of 200 ms");
for (const name of Object.keys(ways)) {
  const extra = added.get(name)!;
  const share =
    quantile(
      [...extra].sort((a, b) => a - b),
      0.95,
    ) / SAFETY_BUDGET_MS;
  const verdict =
    name === "no check" ? "" : `${(share * 100).toFixed(0)} %: ${share > 1 ? "FAIL" : "pass"}`;
  const all = seen.get(name)!;
  console.log(
    `${name.padEnd(16)}  ${at(all, 0.5)} ${at(all, 0.95)}      ${at(extra, 0.5)} ${at(extra, 0.95)}   ${verdict}`,
  );
}
await Promise.all([without.close(), beside.close()]);
model.closeAllConnections();
classifier.closeAllConnections();
model.close();
classifier.close();

/** µs of CPU per frame of a stream of `frames`, the best of five. */
function frameCost(patterns: readonly string[]): number {
  const frames = 20_000;
  const bytes = Buffer.from(chunk("word "));
  let best = Number.POSITIVE_INFINITY;
  for (let round = 0; round < 5; round += 1) {
    const output = {
      name: "words",
      stage: "output",
      budgetUs: 300_000,
      onFailure: "closed",
    } as const;
    const rules = [{ ...output, when: "always" as const }];
    const checker = new PatternChecker({ patterns, onMatch: "flag", budgetUs: 300_000 });
    let released = 0;
    const ignore = (): void => undefined;
    const side: GuardedSide = {
      ...{
        onBegin: ignore,
        onSent: ignore,
        onFirstHead: ignore,
        onContent: ignore,
        onFirstOutput: ignore,
      },
      ...{ onHead: ignore, onEnd: ignore, onFailure: ignore, onRefused: ignore, cut: ignore },
      onBytes: (part) => {
        released += part.length;
      },
    };
    const answer = new GuardedAnswer(
      {
        plan: { policy: { ...GUARD_WINDOW, rules }, checkers: [checker], scope: "new" },
        route: findRoute("POST", "/v1/chat/completions"),
        caller: { credentials: [], hidesKey: false },
        clock: realClock,
        requestText: () => "",
        onResult: () => undefined,
      },
      side,
    );
    answer.begin(Number.POSITIVE_INFINITY);
    answer.onHead(200, ["content-type", "text/event-stream"], true);
    const startUs = realClock.nowUs();
    for (let i = 0; i < frames; i += 1) answer.onBytes(bytes);
    answer.onEnd("complete", undefined);
    best = Math.min(best, (realClock.nowUs() - startUs) / frames);
    if (released !== frames * bytes.length) throw new Error("not all of it was released");
  }
  return best;
}
console.log("\nCPU per frame of 5 characters, windows of 256");
console.log(
  `  a pattern that cannot backtrack  ${frameCost(["\\b\\d{4}( ?\\d{4}){3}\\b"]).toFixed(2)} µs`,
);
console.log(`  one that is stopped if it does   ${frameCost(["ignore\\s+all"]).toFixed(2)} µs`);
console.log("  none configured                  0 µs: nothing stands between upstream and caller");
