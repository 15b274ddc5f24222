/** A guarded call over real sockets: what a refusal does to the connections of the model and of the classifiers. */
import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import OpenAI from "openai";
import { afterAll, describe, expect, it } from "vitest";
import { guardedAnswer, httpRail, Rails, type SourceItem } from "../../src/runtime/index.ts";
import { chatWire, delta } from "../support/wire-text.ts";

const servers: Server[] = [];

async function listen(
  answer: (request: IncomingMessage, response: ServerResponse, body: string) => void,
): Promise<string> {
  const server = createServer((request, response) => {
    let body = "";
    request.on("data", (part: Buffer) => {
      body += part.toString();
    });
    request.on("end", () => answer(request, response, body));
  });
  servers.push(server);
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}

afterAll(() => {
  for (const server of servers) {
    server.closeAllConnections();
    server.close();
  }
});

/** A model that says one piece and then hangs, unless it is asked to be brief. */
async function model(): Promise<{ url: string; closed: Promise<void> }> {
  let tell: () => void = () => {};
  const closed = new Promise<void>((resolve) => {
    tell = resolve;
  });
  const url = await listen((_, response, body) => {
    response.writeHead(200, { "content-type": "text/event-stream" });
    response.write(chatWire(delta({ content: "Hello world" })));
    if (body.includes("brief")) response.end(chatWire(delta({}, "stop"), "[DONE]"));
    else response.on("close", tell);
  });
  return { url, closed };
}

describe("a guarded call over real sockets", () => {
  it("a refusal closes the model's connection, and a hung classifier's", async () => {
    const { url, closed } = await model();
    let hungClosed: () => void = () => {};
    const hung = new Promise<void>((resolve) => {
      hungClosed = resolve;
    });
    const flags = await listen((_, response) => response.end('{"flagged":true}'));
    const hangs = await listen((_, response) => response.on("close", hungClosed));
    const answer = guardedAnswer({
      rails: new Rails(
        [
          httpRail({ name: "hangs", stage: "request", url: hangs, budget: "20s" }),
          httpRail({ name: "flags", url: flags, budget: "20s" }),
        ],
        { overlapChars: 4, wait: "10ms" },
      ),
      format: "openai-chat",
      request: "hello",
      ask: ({ signal }) => fetch(url, { method: "POST", body: "{}", signal }),
    });
    let text = "";
    const read = (async () => {
      for await (const piece of answer.text()) text += piece;
    })();
    await expect(read).rejects.toMatchObject({ code: "MANX_GUARD_REFUSED" });
    await Promise.all([closed, hung]);
    expect(text).toBe("");
  });

  it("takes the official client's stream as it is, and passes a clean answer", async () => {
    const { url } = await model();
    const clean = await listen((request, response, body) => {
      expect(request.headers["x-manx-guard-stage"]).toMatch(/request|output/);
      expect(JSON.parse(body)).toHaveProperty("input");
      response.setHeader("server-timing", "queue;dur=0.001");
      response.end('{"verdict":"clean"}');
    });
    const client = new OpenAI({ apiKey: "none", baseURL: url, maxRetries: 0 });
    const answer = guardedAnswer({
      rails: new Rails([
        httpRail({ name: "request", stage: "request", url: clean, budget: "20s" }),
        httpRail({ name: "output", url: clean, budget: "20s" }),
      ]),
      request: "be brief",
      ask: async ({ request, signal }): Promise<AsyncIterable<SourceItem>> => {
        const messages = [{ role: "user" as const, content: request }];
        return client.chat.completions.create({ model: "m", stream: true, messages }, { signal });
      },
    });
    let text = "";
    for await (const piece of answer.text()) text += piece;
    const { path, checks } = await answer.outcome;
    expect([text, path]).toEqual(["Hello world", "clean"]);
    expect(checks.map(({ rail, verdict, parts }) => [rail, verdict, parts.queueUs])).toEqual([
      ["request", "clean", 1],
      ["output", "clean", 1],
    ]);
  });

  it("a classifier that is not there is a check that has failed: closed", async () => {
    const { url } = await model();
    const answer = guardedAnswer({
      rails: new Rails([
        httpRail({ name: "gone", stage: "request", url: "http://127.0.0.1:9/", budget: "20s" }),
      ]),
      format: "openai-chat",
      request: "be brief",
      ask: ({ request, signal }) => fetch(url, { method: "POST", body: request, signal }),
    });
    const read = (async () => {
      for await (const _ of answer);
    })();
    await expect(read).rejects.toMatchObject({ code: "MANX_GUARD_FAILED" });
  });
});
