/**
 * What guardrails cost in the agent's process. Run: npm run bench:guardrails-in-process [-- --calls 200]
 *
 * 1. A request's check of 250 ms and a model whose first token takes 0.1 to 1.2 s, on real timers: without it, before the
 *    call, and beside it, the three ways interleaved. The verdict is that of a safety budget of 10 % of a p95 of 2 s.
 * 2. CPU per event of a stream: decoded alone, behind patterns over windows, and through a playout.
 */
import { parseArgs } from "node:util";
import { Random, realClock } from "../src/clock/index.ts";
import { guardedAnswer, patternRail, playout, Rails, rail, Turn } from "../src/runtime/index.ts";
import { sampleQuantile } from "../src/stats/index.ts";

const { values } = parseArgs({ options: { calls: { type: "string", default: "200" } } });
const calls = Number(values.calls);
const CHECK_MS = 250;
const BUDGET_MS = 200;
const AT_A_TIME = 10;

const sleep = (ms: number): Promise<void> => realClock.sleepUntil(realClock.nowUs() + ms * 1_000);

async function* model(ttftMs: number): AsyncGenerator<string> {
  await sleep(ttftMs);
  yield "Yes.";
}

const slow = rail({
  name: "injection",
  stage: "request",
  budget: "2s",
  check: async () => {
    await sleep(CHECK_MS);
    return "clean";
  },
});
const rails = new Rails([slow]);

const ways: Readonly<Record<string, (ttftMs: number) => Promise<void>>> = {
  "no check": async (ttftMs) => {
    for await (const _ of model(ttftMs)) return;
  },
  "before the call": async (ttftMs) => {
    await sleep(CHECK_MS);
    for await (const _ of model(ttftMs)) return;
  },
  "beside the call": async (ttftMs) => {
    const answer = guardedAnswer({ rails, request: "a question", ask: () => model(ttftMs) });
    for await (const _ of answer.text()) break;
  },
};

const added = new Map<string, number[]>(Object.keys(ways).map((name) => [name, []]));
const random = new Random(1, "ttft");
for (let done = 0; done < calls; done += AT_A_TIME) {
  await Promise.all(
    Array.from({ length: AT_A_TIME }, async () => {
      const ttftMs = 100 + random.int(1_100);
      for (const [name, way] of Object.entries(ways)) {
        const startUs = realClock.nowUs();
        await way(ttftMs);
        added.get(name)!.push((realClock.nowUs() - startUs) / 1_000 - ttftMs);
      }
    }),
  );
}
console.log(`A check of ${CHECK_MS} ms, ${calls} calls each way, TTFT 100 to 1,200 ms`);
console.log("                  added to TTFVT p50   p95   of a safety budget of 200 ms");
for (const [name, list] of added) {
  const sorted = [...list].sort((a, b) => a - b);
  const at = (q: number): string => sampleQuantile(sorted, q).value.toFixed(0).padStart(6);
  const share = sampleQuantile(sorted, 0.95).value / BUDGET_MS;
  const verdict = `${(share * 100).toFixed(0)} %: ${share > 1 ? "FAIL" : "pass"}`;
  console.log(
    `${name.padEnd(18)}           ${at(0.5)} ${at(0.95)}   ${name === "no check" ? "" : verdict}`,
  );
}

const EVENTS = 20_000;
const CHUNK = { choices: [{ index: 0, delta: { content: "word " }, finish_reason: null }] };
const BYTES = new TextEncoder().encode(`data: ${JSON.stringify(CHUNK)}\n\n`);
const words = new Rails([patternRail({ name: "cards", patterns: ["\\b\\d{4}( ?\\d{4}){3}\\b"] })]);

/** µs of CPU per event, the best of seven. */
async function costOf(run: () => void | Promise<void>): Promise<number> {
  let best = Number.POSITIVE_INFINITY;
  for (let round = 0; round < 7; round += 1) {
    const before = process.cpuUsage();
    await run();
    const { user, system } = process.cpuUsage(before);
    best = Math.min(best, (user + system) / EVENTS);
  }
  return best;
}

const alone = await costOf(() => {
  const step = new Turn({ tools: [] }).step("openai-chat");
  for (let i = 0; i < EVENTS; i += 1) step.push(BYTES);
  step.end();
});
const guarded = await costOf(() => {
  let released = 0;
  const step = new Turn({ tools: [] }).guarded("openai-chat", {
    rails: words,
    request: "",
    onRelease: (events) => {
      released += events.length;
    },
  });
  for (let i = 0; i < EVENTS; i += 1) step.push(BYTES);
  step.end();
  if (released < EVENTS) throw new Error("not all of it was released");
});
async function* pieces(): AsyncGenerator<string> {
  for (let i = 0; i < EVENTS; i += 1) yield "word ";
}
const bare = await costOf(async () => {
  for await (const _ of pieces());
});
const played = await costOf(async () => {
  for await (const _ of playout(pieces(), { delayMax: 0 }));
});
console.log(`\nCPU per event of 5 characters, ${EVENTS} events, the best of seven`);
console.log(`  decoded alone                  ${alone.toFixed(2)} µs`);
console.log(
  `  and behind a pattern, windows  ${guarded.toFixed(2)} µs (${(guarded / alone).toFixed(1)} times)`,
);
console.log(`  an async iterable alone        ${bare.toFixed(2)} µs`);
console.log(
  `  and through a playout          ${played.toFixed(2)} µs (+${(played - bare).toFixed(2)})`,
);
