import { describe, expect, it } from "vitest";
import { AnswerBody } from "./answer-body.ts";

/** As many bytes as an answer may hold back, each in a read of its own. */
const READS = 256 * 1024;
/** Ten seconds went by while each read moved all behind it. */
const LIMIT_MS = 5_000;

describe("an answer in very many reads", () => {
  it("is handed on, in order, without holding the process up", async () => {
    const body = new AnswerBody(false, { onWanted: () => {}, onCancelled: () => {} });
    for (let i = 0; i < READS; i += 1) body.push(Uint8Array.of(i % 251));
    body.end();
    const startMs = performance.now();
    const bytes = new Uint8Array(await new Response(body.stream).arrayBuffer());
    expect(bytes.length).toBe(READS);
    expect(bytes.every((byte, i) => byte === i % 251)).toBe(true);
    expect(performance.now() - startMs).toBeLessThan(LIMIT_MS);
  });
});
