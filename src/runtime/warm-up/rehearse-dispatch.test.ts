import { describe, expect, it } from "vitest";
import { SimClock } from "../../clock/index.ts";
import { rehearseDispatch } from "./rehearse-dispatch.ts";

describe("a rehearsal of dispatch", () => {
  it.each(["openai-chat", "openai-responses", "anthropic-messages", "gemini"] as const)(
    "plays two calls a turn on %s, as an agent would read them",
    async (format) => {
      const clock = new SimClock();
      const done = rehearseDispatch({ formats: [format], turns: 25, clock });
      await clock.run();
      expect(await done).toBe(50);
      expect(clock.nowUs()).toBe(0);
    },
  );
});
