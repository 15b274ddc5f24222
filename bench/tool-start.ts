/**
 * The same mocked message of 1, 3 and 5 calls and the same tools of 800 ms through Manx and its peers, all over their own
 * clients and loopback HTTP: how long after its closing brace each tool starts, and how long it takes from the first
 * request to the second, which goes out when all results are there. The baselines, plain code that waits for the
 * message and then runs its tools beside each other or one by one, are lines of their own.
 *
 *     npm run bench:tool-start [-- --rounds 3 --tools 1,3,5]
 */
import { parseArgs } from "node:util";
import { CONTESTANTS } from "./tool-start/contestants.ts";
import { startMarkedProvider } from "./tool-start/marked-provider.ts";

const { values } = parseArgs({
  options: {
    rounds: { type: "string", default: "3" },
    tools: { type: "string", default: "1,3,5" },
  },
});
const rounds = Number(values.rounds);
const TOOL_MS = 800;
const OURS = "Manx in the Anthropic SDK";
const OURS_AI = "Manx in the AI SDK 6";

interface Lap {
  /** From its brace to the start, of each tool. */
  readonly delaysMs: readonly number[];
  readonly totalMs: number;
}

async function lap(name: string, count: number): Promise<Lap> {
  const names = Array.from({ length: count }, (_, i) => `tool_${i}`);
  const starts = new Map<string, number>();
  const provider = await startMarkedProvider(names);
  await CONTESTANTS[name]!({
    url: provider.url,
    names,
    work: async (one) => {
      starts.set(one, performance.now());
      await new Promise((resolve) => setTimeout(resolve, TOOL_MS));
      return "found";
    },
  });
  await provider.close();
  const [first, second] = provider.requestsMs;
  return {
    delaysMs: names.map((one, i) => starts.get(one)! - provider.writtenMs.get(`brace ${i}`)!),
    totalMs: second! - first!,
  };
}

function middle(all: readonly number[]): number {
  return [...all].sort((a, b) => a - b)[all.length >> 1]!;
}

function change(ours: number, theirs: number): string {
  return `${(100 * (ours / theirs - 1)).toFixed(0)} %`;
}

// Loading and compiling is nobody's latency here.
for (const name of Object.keys(CONTESTANTS)) await lap(name, 1);

for (const count of values.tools.split(",").map(Number)) {
  const laps = new Map<string, Lap[]>(Object.keys(CONTESTANTS).map((name) => [name, []]));
  for (let round = 0; round < rounds; round += 1) {
    for (const name of laps.keys()) laps.get(name)!.push(await lap(name, count));
  }
  const total = (name: string): number => middle(laps.get(name)!.map(({ totalMs }) => totalMs));
  const delay = (name: string, i: number): number =>
    middle(laps.get(name)!.map(({ delaysMs }) => delaysMs[i]!));
  console.log(
    `\n${count} ${count === 1 ? "call" : "calls"} of ${TOOL_MS} ms, medians, n = ${rounds}`,
  );
  console.log("from the closing brace to each start; from request to request; Manx against it");
  for (const name of laps.keys()) {
    const delays = Array.from({ length: count }, (_, i) => delay(name, i).toFixed(0).padStart(5));
    const against = name.startsWith("Manx") ? "" : change(total(OURS), total(name)).padStart(7);
    console.log(
      `  ${name.padEnd(31)} ${delays.join(" /")} ms  ${total(name).toFixed(0).padStart(5)} ms${against}`,
    );
  }
  const earlier = Array.from({ length: count }, (_, i) => {
    return delay("Anthropic SDK, runToolsEagerly", i) - delay(OURS, i);
  });
  const ai = change(total(OURS_AI), total("AI SDK 6, streamText"));
  console.log(
    `  earlier than runToolsEagerly by at least ${Math.min(...earlier).toFixed(0)} ms (goal 400)`,
  );
  console.log(`  AI SDK 6 with Manx in it against without, end to end: ${ai} (goal −15 %)`);
}
