import { describe, expect, it } from "vitest";
import { TextFlow } from "./text-flow.ts";

async function readAll(flow: TextFlow): Promise<string[]> {
  const read: string[] = [];
  for await (const text of flow) read.push(text);
  return read;
}

describe("a flow of text", () => {
  it("gives each piece once and its end to all who read it", async () => {
    const flow = new TextFlow();
    const readers = [readAll(flow), readAll(flow), readAll(flow)];
    for (const text of ["a", "b", "c"]) {
      flow.push(text);
      await new Promise((resolve) => setImmediate(resolve));
    }
    flow.end();
    expect((await Promise.all(readers)).flat().sort()).toEqual(["a", "b", "c"]);
  });

  it("fails all who read it, and who comes later", async () => {
    const flow = new TextFlow();
    const readers = [readAll(flow), readAll(flow)];
    flow.fail(new Error("gone"));
    for (const reader of [...readers, readAll(flow)]) await expect(reader).rejects.toThrow("gone");
  });
});
