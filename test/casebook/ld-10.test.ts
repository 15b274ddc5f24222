/** LD-10: you measured the prefix cache. */
import { createHash } from "node:crypto";
import { describe, expect, it } from "vitest";
import { generateWorkload, readTrace, type WorkRequest } from "../../src/load/index.ts";
import { PromptText } from "../../src/load/prompt-text.ts";

const PIECE = 16;

/** An engine's prefix cache without limits: a prompt's pieces hit as long as all before them did. */
class PrefixCache {
  readonly #known = new Set<string>();
  hits = 0;
  tokens = 0;

  take(prompt: string): void {
    const words = prompt.split(" ");
    let name = "";
    let isHit = true;
    for (let at = 0; at < words.length; at += PIECE) {
      const piece = words.slice(at, at + PIECE);
      // The name of a piece stands for all before it too.
      name = createHash("sha1")
        .update(`${name} ${piece.join(" ")}`)
        .digest("base64");
      isHit &&= this.#known.has(name);
      if (isHit) this.hits += piece.length;
      this.tokens += piece.length;
      this.#known.add(name);
    }
  }

  share(): number {
    return this.hits / this.tokens;
  }
}

function random(seed: number): readonly WorkRequest[] {
  return [
    ...generateWorkload({
      process: "poisson",
      ratePerS: 20,
      durationUs: 10e6,
      seed,
      promptTokens: 1_000,
      outputTokens: 1,
    }),
  ];
}

function send(cache: PrefixCache, requests: readonly WorkRequest[], nonce: string): string[] {
  const texts = new PromptText(nonce, 42);
  return requests.map((request, index) => {
    const prompt = texts.prompt(request, index);
    cache.take(prompt);
    return prompt;
  });
}

describe("the same random scenario twice, with one seed", () => {
  it("hits nothing in the second run either, and repeats exactly with the stored nonce", () => {
    const cache = new PrefixCache();
    const first = send(cache, random(42), "mx1");
    expect(cache.share()).toBe(0);
    send(cache, random(42), "mx2");
    expect(cache.share()).toBe(0);
    expect(new Set(first).size).toBe(first.length);
    expect(send(new PrefixCache(), random(42), "mx1")).toEqual(first);
  });

  it("would hit everything if the prompts were the same: the cache of this test does work", () => {
    const cache = new PrefixCache();
    send(cache, random(42), "mx1");
    send(cache, random(42), "mx1");
    expect(cache.share()).toBe(0.5);
  });
});

it("hits what the trace declares shared, to the token, and again nothing of another run", async () => {
  const { requests } = await readTrace("data/mooncake-fast25/conversation-1000.jsonl.gz", {
    limit: 60,
  });
  const seen = new Set<number>();
  let declared = 0;
  for (const { promptTokens, blockHashes = [] } of requests) {
    let isHit = true;
    for (const [i, hash] of blockHashes.entries()) {
      isHit &&= seen.has(hash);
      if (isHit) declared += Math.min(512, promptTokens - 512 * i);
    }
    for (const hash of blockHashes) seen.add(hash);
  }
  const cache = new PrefixCache();
  send(cache, requests, "mx1");
  expect(declared).toBeGreaterThan(0);
  expect(cache.hits).toBe(declared);
  send(cache, requests, "mx2");
  expect(cache.hits).toBe(2 * declared);
});
