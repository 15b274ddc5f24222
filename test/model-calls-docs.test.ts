/** The code of docs/how-to/model-calls-in-process.md runs as it stands there, and what it shows is what comes out. */
import OpenAI from "openai";
import { describe, expect, it, onTestFinished } from "vitest";
import { realClock } from "../src/clock/index.ts";
import { formatUs } from "../src/core/index.ts";
import { CALL_POLICY, HEDGE_POLICY } from "../src/policy/index.ts";
import * as runtime from "../src/runtime/index.ts";
import { TurnRecorder } from "../src/trace/index.ts";
import { runCode, tsBlocks } from "./support/doc-code.ts";
import {
  CHAT_DONE,
  chatText,
  chunk,
  EVENT_STREAM_HEAD,
  LAST_CHUNK,
  startReplayServer,
} from "./support/replay-server.ts";
import { readText } from "./support/source-tree.ts";

const page = readText("docs/how-to/model-calls-in-process.md");
const [first, targets, inTurn, observed, lint] = tsBlocks(page);
const [printed] = [...page.matchAll(/```text\n([\s\S]*?)```/g)].map(([, text]) => text!);

async function upstream(): Promise<string> {
  const server = await startReplayServer(() => [
    { bytes: EVENT_STREAM_HEAD },
    { bytes: chunk(chatText("Hello")) },
    { bytes: chunk(chatText("", "stop") + CHAT_DONE) },
    { bytes: LAST_CHUNK },
  ]);
  onTestFinished(() => server.close());
  return `${server.url}/v1`;
}

const body = JSON.stringify({ model: "m", stream: true, messages: [] });

async function ask(fetch: runtime.ModelFetch, baseURL: string): Promise<string> {
  return await (await fetch(`${baseURL}/chat/completions`, { method: "POST", body })).text();
}

/** 8 s at the median, 18 s at p95, log-normal: its quantiles. */
function golden(count: number): number[] {
  const sigma = Math.log(18 / 8) / 1.644854;
  return Array.from({ length: count }, (_, i) => {
    return Math.round(8e6 * Math.exp(sigma * normalQuantile((i + 1) / (count + 1))));
  });
}

/** By bisection of the distribution (Abramowitz and Stegun, 26.2.17). */
function normalQuantile(share: number): number {
  if (share < 0.5) return -normalQuantile(1 - share);
  let [low, high] = [0, 8];
  for (let i = 0; i < 50; i += 1) {
    const z = (low + high) / 2;
    const t = 1 / (1 + 0.2316419 * z);
    const poly =
      t *
      (0.31938153 + t * (-0.356563782 + t * (1.781477937 + t * (-1.821255978 + t * 1.330274429))));
    const below = 1 - (Math.exp((-z * z) / 2) / Math.sqrt(2 * Math.PI)) * poly;
    if (below < share) low = z;
    else high = z;
  }
  return low;
}

describe("docs/how-to/model-calls-in-process.md", () => {
  it("streams by the official client", async () => {
    const names = { OpenAI, ...runtime, baseURL: await upstream(), apiKey: "k", text: "" };
    const answer = "({ text, calls, attempts, hedges, tokens })";
    const made = await runCode(first!, answer, names);
    expect(made).toMatchObject({ text: "Hello", calls: 1, attempts: 1, hedges: { begun: 0 } });
  });

  it("fails over with a key of the target's own", async () => {
    const baseURL = await upstream();
    const names = { ...runtime, spareURL: baseURL, spareKey: "s" };
    const made = (await runCode(targets!, "failsOver", names)) as runtime.ModelFetch;
    const gone = await startReplayServer(() => []);
    await gone.close();
    expect(await ask(made, `${gone.url}/v1`)).toContain("Hello");
    expect(made.stats()).toMatchObject({ failovers: 1 });
  });

  it("records in a turn, and tells whoever observes", async () => {
    const baseURL = await upstream();
    const names = { ...runtime, TurnRecorder, realClock };
    const [one, two, turn, trace] = (await runCode(
      inTurn!,
      "[inTurn, forStep, turn, trace]",
      names,
    )) as [runtime.ModelFetch, runtime.ModelFetch, runtime.Turn, TurnRecorder];
    await ask(one, baseURL);
    await ask(two, baseURL);
    await turn.close();
    const kinds = trace
      .finish()
      .spans.map(({ kind }) => kind)
      .sort();
    expect(kinds).toEqual(["attempt", "attempt", "model-call", "model-call", "step", "turn"]);

    const logged: unknown[][] = [];
    const log = (...all: unknown[]): void => void logged.push(all);
    const told = (await runCode(observed!, "observed", { ...runtime, log })) as runtime.ModelFetch;
    await ask(told, baseURL);
    expect(logged).toHaveLength(1);
    expect(logged[0]).toMatchObject([
      "m",
      "ok",
      expect.any(Number),
      expect.any(String),
      "first",
      "delivered",
      { isEstimate: true },
    ]);
  });

  it("says of a policy what the page shows", async () => {
    const lines: string[] = [];
    const print = (line: string): void => void lines.push(line);
    await runCode(lint!, "findings", { ...runtime, latenciesUs: golden(9_999), print });
    expect(`${lines.join("\n")}\n`).toBe(printed);
  });

  it("has the defaults that the code has", () => {
    const { timeouts, retry } = CALL_POLICY;
    const seconds = (us: number): string => String(us / 1e6);
    for (const us of [timeouts.headersUs, timeouts.firstContentUs])
      expect(page).toContain(`${seconds(us)} s`);
    const gaps = [timeouts.lifeGapUs, timeouts.progressGapUs, timeouts.thinkingGapUs].map(seconds);
    expect(page).toContain(`${gaps.join(", ")} s`);
    const { attemptsMax, backoffBaseUs, backoffCapUs, retryAfterMaxUs, share } = retry;
    const waits = `${backoffBaseUs / 1e3} ms, ${seconds(backoffCapUs)} s, ${seconds(retryAfterMaxUs)} s`;
    expect(page).toContain(`${attemptsMax}, ${waits}, ${share}`);
    expect(page).toContain(
      `\`percentile\` ${HEDGE_POLICY.percentile}, \`floor\` ${formatUs(HEDGE_POLICY.floorUs).replace(".0", "")}, \`share\` ${HEDGE_POLICY.share}`,
    );
  });
});
