import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { Answer } from "./answer.ts";
import { parseChatRequest } from "./call-request.ts";
import type { Fields } from "./fields.ts";

function answerTo(extra: Fields, room = 100_000, seed = 42): Answer {
  const messages = [{ role: "user", content: "hello twin" }];
  return new Answer(parseChatRequest({ messages, ...extra }), room, seed);
}

function textOf(answer: Answer): string {
  let text = "";
  for (let i = 0; i < answer.tokens; i += 1) {
    const piece = answer.piece(i);
    if (piece.kind === "text") text += piece.text;
  }
  return text;
}

describe("Answer", () => {
  it("is as long as scripted, in words as in tokens, and stops below the limit only", () => {
    fc.assert(
      fc.property(
        fc.integer({ min: 1, max: 80 }),
        fc.integer({ min: 1, max: 80 }),
        (own, limit) => {
          const answer = answerTo({ max_tokens: limit, manx: { output_tokens: own } });
          expect(answer.tokens).toBe(Math.min(own, limit));
          expect(answer.finish).toBe(own < limit ? "stop" : "length");
          expect(textOf(answer).split(" ")).toHaveLength(answer.tokens);
        },
      ),
    );
  });

  it("says the same to the same prompt and seed, and something else to another", () => {
    const said = textOf(answerTo({}));
    expect(textOf(answerTo({}))).toBe(said);
    expect(textOf(answerTo({}, 100_000, 43))).not.toBe(said);
    expect(textOf(answerTo({ messages: [{ role: "user", content: "hello win" }] }))).not.toBe(said);
    // A limit cuts the answer and changes nothing of what comes before.
    expect(said.startsWith(textOf(answerTo({ max_tokens: 5 })))).toBe(true);
  });

  it("runs to the limit if told to ignore its end, and not below a minimum", () => {
    expect(answerTo({ ignore_eos: true, max_tokens: 700 })).toMatchObject({
      tokens: 700,
      finish: "length",
    });
    expect(answerTo({ ignore_eos: true }, 900).tokens).toBe(900);
    expect(answerTo({ min_tokens: 1_500 }).tokens).toBe(1_500);
  });

  it("draws lengths around its mean when nobody set one", () => {
    const lengths: number[] = [];
    for (let i = 0; i < 2_000; i += 1) {
      const messages = [{ role: "user", content: `prompt ${i}` }];
      const { tokens, finish } = answerTo({ messages });
      expect(finish).toBe("stop");
      lengths.push(tokens);
    }
    const mean = lengths.reduce((sum, tokens) => sum + tokens, 0) / lengths.length;
    expect(mean).toBeGreaterThan(115);
    expect(mean).toBeLessThan(141);
    expect(Math.min(...lengths)).toBeGreaterThanOrEqual(1);
  });

  it("streams scripted calls after scripted text, and arguments join to what was scripted", () => {
    const json = fc.json().map((text) => `{"value":${text}}`);
    fc.assert(
      fc.property(fc.array(json, { minLength: 1, maxLength: 3 }), fc.nat(4), (texts, words) => {
        const calls = texts.map((text, i) => ({ name: `tool${i}`, arguments: text }));
        const answer = answerTo({
          manx: { tool_calls: calls, ...(words > 0 && { output_tokens: words }) },
        });
        expect(answer.finish).toBe("tool_calls");
        const joined = texts.map(() => "");
        const names: string[] = [];
        for (let i = 0; i < answer.tokens; i += 1) {
          const piece = answer.piece(i);
          if (piece.kind === "text") expect(i).toBeLessThan(words);
          else if (piece.kind === "call-start") names.push(piece.name);
          else joined[piece.call] += piece.text;
        }
        expect(joined).toEqual(texts);
        expect(names).toEqual(calls.map(({ name }) => name));
      }),
    );
  });

  it("cuts a call's arguments at the limit", () => {
    const script = { tool_calls: [{ name: "f", arguments: { query: "a long question" } }] };
    const cut = answerTo({ max_tokens: 3, manx: script });
    expect([cut.tokens, cut.finish]).toEqual([3, "length"]);
    const whole = answerTo({ manx: script });
    expect(answerTo({ max_tokens: whole.tokens, manx: script }).finish).toBe("tool_calls");
  });
});
