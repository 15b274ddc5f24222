/** What a caller of an SDK reads when no connection came about: where, why, and what it can look at itself. */
import { expect, it } from "vitest";
import { errorBody } from "../../core/index.ts";
import { faultBeforeHead } from "./fetch-fault.ts";

it("a fetch that cannot connect says where and why, and names no flag of a command", () => {
  const cause = Object.assign(new Error("connect ECONNREFUSED 10.0.0.7:80"), {
    code: "ECONNREFUSED",
  });
  const thrown = new TypeError("fetch failed", { cause });
  const { kind, error } = faultBeforeHead(thrown, "http://127.0.0.1:8000");
  expect(kind).toBe("connect");
  const { message } = errorBody(error, "openai").error as { message: string };
  expect(message).toContain("got ECONNREFUSED (try: see whether http://127.0.0.1:8000 runs");
  expect(message).not.toContain("--");
});
