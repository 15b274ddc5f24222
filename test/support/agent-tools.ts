/** Tools for tests of adapters, and a provider that is closed after each. */
import { afterEach } from "vitest";
import { z } from "zod";
import { type Tool, tool } from "../../src/runtime/index.ts";
import {
  type ScriptedProvider,
  type ScriptedReply,
  startScriptedProvider,
} from "../../src/testing/index.ts";

const open: ScriptedProvider[] = [];

export async function provider(...replies: readonly ScriptedReply[]): Promise<ScriptedProvider> {
  const one = await startScriptedProvider(replies);
  open.push(one);
  return one;
}

/** Call it once in each test file that uses `provider`. */
export function closeProviders(): void {
  afterEach(async () => {
    for (const one of open.splice(0)) await one.close();
  });
}

export interface AgentTools {
  readonly tools: readonly Tool[];
  /** Names of runs, in the order of their starts. */
  readonly runs: string[];
  /** Resolves with the first run of any tool. */
  readonly started: Promise<void>;
}

/** `search` is pure and answers what it was asked; `pay` may not be taken back; `fail` throws; `hang` never ends. */
export function agentTools(): AgentTools {
  const runs: string[] = [];
  let onStart = (): void => {};
  const started = new Promise<void>((resolve) => {
    onStart = resolve;
  });
  const note = (name: string): void => {
    runs.push(name);
    onStart();
  };
  const input = z.object({ q: z.string() });
  const tools = [
    tool({
      name: "search",
      description: "Looks things up.",
      effect: "pure",
      input,
      run: ({ q }) => {
        note("search");
        return { found: q };
      },
    }),
    tool({
      name: "pay",
      effect: "irreversible",
      input: { type: "object", properties: { q: { type: "string" } } },
      run: () => {
        note("pay");
        return "paid";
      },
    }),
    tool({
      name: "fail",
      effect: "pure",
      input,
      run: () => {
        note("fail");
        throw new Error("out of order");
      },
    }),
    tool({
      name: "hang",
      effect: "pure",
      input,
      run: (_args, { signal }) => {
        note("hang");
        return new Promise((_, reject) => {
          signal.addEventListener("abort", () => reject(signal.reason));
        });
      },
    }),
  ];
  return { tools, runs, started };
}
