/** One process of the bench: the delays of its first calls, from the read with the last brace to the tool's first line. */
import { rehearseDispatch, Turn, tool } from "../../src/runtime/index.ts";
import type { DecodableFormat } from "../../src/stream/index.ts";
import { WIRE_WRITERS } from "./wires.ts";

const format = (process.argv[2] ?? "openai-chat") as DecodableFormat;
if (process.argv[3] === "rehearsed") await rehearseDispatch({ formats: [format] });

const UTF8 = new TextEncoder();
const delaysMs: number[] = [];
let readMs = 0;
const search = tool({
  name: "search",
  effect: "pure",
  input: (value) => value,
  run: () => void delaysMs.push(performance.now() - readMs),
});
for (let i = 0; i < 40; i += 1) {
  const pieces = JSON.stringify({ query: `number ${i}`, tags: ["a", "b"] }).match(/.{1,4}/gs)!;
  const { head, calls, tail } = WIRE_WRITERS[format]([{ name: "search", pieces }]);
  const step = new Turn({ tools: [search] }).step(format);
  const [call] = calls;
  for (const frame of [...head, ...call!.open, ...call!.args, ...call!.close, ...tail]) {
    const bytes = UTF8.encode(frame);
    // A read of its own, as from a socket.
    await new Promise((resolve) => setImmediate(resolve));
    readMs = performance.now();
    step.push(bytes);
  }
  step.end();
  await step.results();
}
console.log(JSON.stringify(delaysMs));
