import { describe, expect, it } from "vitest";
import { callerRequests } from "./caller-requests.ts";
import { LocalStage } from "./local-stage.ts";
import { ThreadStage } from "./stage.ts";

const PROMPT = { model: "any", format: "openai-chat" } as const;
const CLAUDE = { model: "any", format: "anthropic-messages" } as const;

function thread(code: string): ThreadStage {
  const port = 'import { parentPort as port } from "node:worker_threads";';
  return new ThreadStage(new URL(`data:text/javascript,${encodeURIComponent(port + code)}`));
}

describe("a stage", () => {
  it("answers its own callers, whichever they are", async () => {
    const stage = new LocalStage();
    const port = await stage.open();
    const requests = callerRequests([PROMPT, CLAUDE]);
    const played = await stage.play({ ports: [port], requests, calls: requests.length });
    expect(played).toEqual({ calls: requests.length, failed: 0 });
    await stage.close();
  });

  it("plays nothing once it was stopped", async () => {
    const stage = new LocalStage();
    const port = await stage.open();
    stage.stop();
    const requests = callerRequests([PROMPT]);
    expect(await stage.play({ ports: [port], requests, calls: 9 })).toEqual({
      calls: 0,
      failed: 0,
    });
    await stage.close();
  });
});

describe("a stage in a thread of its own", () => {
  const play = { ports: [1], requests: [], calls: 1 };

  it("says what the thread says", async () => {
    const stage = thread(
      "port.postMessage(7); port.on('message', () => port.postMessage({ calls: 1, failed: 0 }));",
    );
    expect(await stage.open()).toBe(7);
    expect(await stage.play(play)).toEqual({ calls: 1, failed: 0 });
    await stage.close();
  });

  it("keeps nobody waiting for a thread that has ended, before it was asked or after", async () => {
    const stage = thread("port.postMessage(7); port.on('message', () => undefined);");
    await stage.open();
    const asked = stage.play(play);
    await stage.close();
    await expect(asked).rejects.toThrow("closed");
    await expect(stage.play(play)).rejects.toThrow("closed");
  });

  it("keeps nobody waiting for a thread that fails", async () => {
    await expect(thread("throw new Error('no stage');").open()).rejects.toThrow("no stage");
  });
});
