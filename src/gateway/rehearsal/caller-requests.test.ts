import { describe, expect, it } from "vitest";
import { callerRequests } from "./caller-requests.ts";

function parse(request: Buffer): { head: string[]; body: Record<string, unknown> } {
  const text = request.toString("utf8");
  const at = text.indexOf("\r\n\r\n");
  return { head: text.slice(0, at).split("\r\n"), body: JSON.parse(text.slice(at + 4)) };
}

describe.each(["openai-chat", "anthropic-messages"] as const)("requests of %s", (format) => {
  const requests = callerRequests([{ model: "m", format }]);

  it("are whole: a body of the length that the head says, for the model", () => {
    for (const request of requests) {
      const { head, body } = parse(request);
      const length = head.find((line) => /^content-length: /i.test(line))!.split(": ")[1];
      expect(request.length - request.indexOf("\r\n\r\n") - 4).toBe(Number(length));
      expect(body).toMatchObject({ model: "m" });
    }
  });

  it("are each head with each body, a quarter of them streams", () => {
    const kinds = requests.map((request) => {
      const { head, body } = parse(request);
      const names = head.map((line) => line.split(":")[0]).join();
      return { isStream: body.stream === true, kind: `${names} ${JSON.stringify(body)}` };
    });
    const heads = new Set(kinds.map(({ kind }) => kind.slice(0, kind.indexOf(" {"))));
    const bodies = new Set(kinds.map(({ kind }) => kind.slice(kind.indexOf(" {"))));
    expect(heads.size).toBe(7);
    const wholeBodies = bodies.size / 2;
    expect(new Set(kinds.map(({ kind }) => kind)).size).toBe(7 * 2 * wholeBodies);
    expect(kinds.filter(({ isStream }) => isStream).length / kinds.length).toBeCloseTo(0.25);
  });
});

describe("requests", () => {
  it("ask for what stands twice in the list twice as often", () => {
    const chat = { model: "m", format: "openai-chat" } as const;
    const requests = callerRequests([chat, chat, { model: "m", format: "anthropic-messages" }]);
    const claude = requests.filter((request) => request.includes("POST /v1/messages"));
    expect(claude.length * 3).toBe(requests.length);
  });
});
