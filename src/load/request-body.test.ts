import { describe, expect, it } from "vitest";
import { loadApi } from "./request-body.ts";
import type { WorkRequest } from "./work-request.ts";

const OPTIONS = { model: "m", stream: true, exactOutput: false };

function body(api: string, request: Partial<WorkRequest>): Record<string, unknown> {
  const whole = { atUs: 0, promptTokens: 1, outputTokens: 7, row: 0, ...request };
  const job = { request: whole } as Parameters<ReturnType<typeof loadApi>["body"]>[0];
  return JSON.parse(loadApi(api).body(job, "a prompt", OPTIONS));
}

describe("the body of a request", () => {
  it("says who asks and how urgently, if the workload does", () => {
    const caller = { priority: -2, tenant: 'team "a"' };
    expect(body("openai", caller)).toMatchObject({ priority: -2, user: 'team "a"' });
    expect(body("anthropic", caller)).toMatchObject({ metadata: { user_id: 'team "a"' } });
  });

  it("says nothing of it otherwise, since hosted APIs refuse a priority", () => {
    for (const api of ["openai", "anthropic"]) {
      const plain = body(api, { priority: 0 });
      expect(plain).toMatchObject({ model: "m", max_tokens: 7 });
      for (const name of ["priority", "user", "metadata"]) expect(plain).not.toHaveProperty(name);
    }
  });
});
