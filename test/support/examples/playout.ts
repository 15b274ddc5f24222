import { playout } from "../../../src/runtime/index.ts";

export async function render(text: AsyncIterable<string>, show: (piece: string) => void) {
  const even = playout(text, { delayMax: "300ms" });
  for await (const piece of even) show(piece);
  return even.report(); // addedDelay, firstAddedUs, stallsReceived, stallsShown
}
