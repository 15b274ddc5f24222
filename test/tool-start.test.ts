/** The short form of `npm run bench:tool-start`: not how early, but in which order. No time is measured. */
import { describe, expect, it } from "vitest";
import { CONTESTANTS } from "../bench/tool-start/contestants.ts";
import { startMarkedProvider } from "../bench/tool-start/marked-provider.ts";

const NAMES = ["tool_0", "tool_1", "tool_2"];

interface Lap {
  /** What was written and which tools started, in order. */
  readonly log: readonly string[];
  readonly requests: number;
}

/** @param isHeld whether the message goes on behind a brace only when the tool of it has started. */
async function lap(name: string, isHeld: boolean): Promise<Lap> {
  const log: string[] = [];
  const waiting = new Map<string, () => void>();
  const provider = await startMarkedProvider(NAMES, {
    pace: 0.05,
    written: (mark) => {
      log.push(mark);
      const call = /^brace (\d)$/.exec(mark)?.[1];
      if (!isHeld || call === undefined || log.includes(`start ${call}`)) return undefined;
      return new Promise<void>((resolve) => waiting.set(call, resolve));
    },
  });
  await CONTESTANTS[name]!({
    url: provider.url,
    names: NAMES,
    work: async (one) => {
      const call = one.slice(-1);
      log.push(`start ${call}`);
      waiting.get(call)?.();
      return "found";
    },
  });
  await provider.close();
  return { log, requests: provider.requestsMs.length };
}

const names = Object.keys(CONTESTANTS);
const ours = names.filter((name) => name.startsWith("Manx"));
const peers = names.filter((name) => !name.startsWith("Manx"));

describe("a tool", () => {
  it.each(ours)("starts before the stream goes on behind its brace: %s", async (name) => {
    // If one did not, the message would never end.
    const { log, requests } = await lap(name, true);
    for (const call of [0, 1, 2]) {
      expect(log.indexOf(`start ${call}`)).toBeLessThan(log.indexOf(`stop ${call}`));
    }
    expect(requests).toBe(2);
  });

  it.each(peers)("starts behind what its library waits for: %s", async (name) => {
    const { log, requests } = await lap(name, false);
    const isEager = name.endsWith("runToolsEagerly");
    for (const call of [0, 1, 2]) {
      const behind = isEager && call < 2 ? `open ${call + 1}` : "finish";
      expect(log.indexOf(`start ${call}`)).toBeGreaterThan(log.indexOf(behind));
    }
    expect(requests).toBe(2);
  });
});
