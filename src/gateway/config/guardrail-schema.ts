/** How guardrails are written. The defaults of their windows are the guard's own. */
import { z } from "zod";
import { duration, name, secret, size } from "../../config/index.ts";
import { durationText, sizeText } from "../../core/index.ts";
import { GUARD_WINDOW } from "../../policy/index.ts";

const base = {
  name,
  stage: z.enum(["request", "output"]),
  budget: duration.default("300ms").describe("what the check may take"),
  onFailure: z.enum(["open", "closed"]).default("closed").describe("closed = then it is refused"),
  when: z
    .enum(["always", "unsure"])
    .default("always")
    .describe("unsure = only if one above it in the list could not tell: the cheap first"),
  models: z
    .array(z.string().min(1).max(200))
    .min(1)
    .max(1_000)
    .nullable()
    .default(null)
    .describe("names of models whose calls it checks; null = all"),
  scope: z
    .enum(["new", "all"])
    .default("new")
    .describe("of a request: what has come since the model's last answer, or all of it"),
};

export const guardrailSchema = z.discriminatedUnion("kind", [
  z.strictObject({
    ...base,
    kind: z.literal("pattern"),
    patterns: z.array(z.string().min(1).max(1_000)).min(1).max(200).describe("regular expressions"),
    onMatch: z
      .enum(["flag", "unsure"])
      .default("flag")
      .describe("unsure = let a dearer one decide"),
  }),
  z.strictObject({
    ...base,
    kind: z.literal("http"),
    url: z.string().min(1).max(2_000),
    key: secret.nullable().default(null),
  }),
  z.strictObject({
    ...base,
    kind: z.literal("model"),
    model: z.string().min(1).max(200).describe("one of models"),
    instruction: z.string().min(1).max(20_000).describe("a question; yes = flag"),
  }),
]);

export const guardrailWindowSchema = z.strictObject({
  window: z
    .int()
    .min(0)
    .max(100_000)
    .default(GUARD_WINDOW.windowChars)
    .describe("new characters of a streamed answer that are worth a check; 0 = each read"),
  overlap: z
    .int()
    .min(0)
    .max(10_000)
    .default(GUARD_WINDOW.overlapChars)
    .describe("characters held back behind what was checked: at least the longest bad text"),
  wait: duration
    .default(durationText(GUARD_WINDOW.waitUs))
    .describe("text that has waited this long is checked before its window is full"),
  held: size
    .default(sizeText(GUARD_WINDOW.heldBytesMax))
    .describe("of one answer; more is decided by onFailure"),
});

export type WrittenGuardrail = z.output<typeof guardrailSchema>;
export type WrittenGuardrailWindow = z.output<typeof guardrailWindowSchema>;
