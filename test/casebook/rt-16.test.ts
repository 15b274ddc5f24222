/** RT-16: the first request pays for registry, MCP handshakes and schema compilation, unless a warm-up has paid for them. */
import { describe, expect, it } from "vitest";
import { SimClock } from "../../src/clock/index.ts";
import {
  ClassedLatency,
  type ColdMark,
  ToolBox,
  ToolRegistryCache,
  tool,
  WarmUp,
} from "../../src/runtime/index.ts";
import { toolSchemas } from "../support/tool-schemas.ts";

const MS = 1_000;
/** A warm call of the model with its tools. */
const CALL_MS = 400;

/** The book's start: registry 300 ms, servers of 200 and 500 ms and one that refuses, 64 schemas, a handshake of 60 ms. */
function world() {
  const clock = new SimClock();
  const begun: string[] = [];
  const step = async (name: string, ms: number): Promise<string> => {
    begun.push(name);
    await clock.sleepUntil(clock.nowUs() + ms * MS);
    return name;
  };
  const server = (name: string, ms: number) => ({
    list: async () => [{ name: await step(name, ms), inputSchema: { type: "object" } }],
  });
  const warmUp = new WarmUp({
    clock,
    items: {
      registry: { run: () => step("registry", 300), proof: "run" },
      tools: {
        run: () =>
          ToolRegistryCache.open({
            clock,
            servers: {
              quick: server("quick", 200),
              slow: server("slow", 500),
              refusing: {
                optional: true,
                list: async () => {
                  await step("refusing", 100);
                  throw new Error("connection refused");
                },
              },
            },
          }),
        proof: (registry: ToolRegistryCache) => registry.tools.length > 0,
      },
      // 64 of them, compiled ahead: see the last test for those that are not.
      validators: { needs: ["tools"], run: () => step("validators", 5), proof: "run" },
      llm: {
        run: () => step("handshake", 60),
        proof: "run",
        lives: "5m",
        refreshEvery: "2m",
      },
    },
  });
  void warmUp.start();
  const call = async (): Promise<{ us: number; atUs: number; mark: ColdMark }> => {
    const beganUs = clock.nowUs();
    const cold = warmUp.mark();
    await Promise.all(["registry", "tools", "validators", "llm"].map((name) => cold.get(name)));
    await clock.sleepUntil(clock.nowUs() + CALL_MS * MS);
    return { us: clock.nowUs() - beganUs, atUs: clock.nowUs(), mark: cold.mark };
  };
  const callAt = async (ms: number) => {
    await clock.run(ms * MS);
    const calling = call();
    await clock.run((ms + 3_000) * MS);
    return calling;
  };
  return { clock, begun, warmUp, call, callAt };
}

const times = (log: readonly string[], name: string): number =>
  log.filter((one) => one === name).length;

describe("RT-16: a request 2 s after the start", () => {
  it("pays less than 20 ms over steady state; one connection is open already", async () => {
    const { begun, warmUp, callAt } = world();
    const { us, mark } = await callAt(2_000);
    expect(us - CALL_MS * MS).toBeLessThan(20 * MS);
    expect(mark.temperature).toBe("warm");
    expect(times(begun, "handshake")).toBe(1);
    warmUp.close();
  });
});

describe("RT-16: requests 50 ms after the start", () => {
  it("join the warm-up that is going on: each step runs once, and the answer is there at 500 ms and the call", async () => {
    const { clock, begun, warmUp, call } = world();
    await clock.run(50 * MS);
    const calling = Promise.all([call(), call()]);
    await clock.run(2_000 * MS);
    for (const { atUs, mark } of await calling) {
      expect(atUs).toBeGreaterThanOrEqual((500 + CALL_MS) * MS);
      expect(atUs).toBeLessThan((520 + CALL_MS) * MS);
      expect(mark).toMatchObject({ temperature: "cold", cause: "deploy" });
    }
    for (const name of ["registry", "quick", "slow", "validators", "handshake"]) {
      expect([name, times(begun, name)]).toEqual([name, 1]);
    }
    warmUp.close();
  });
});

describe("RT-16: a request after 10 minutes of idleness", () => {
  it("meets no cold step: the connection was replaced before it could be closed", async () => {
    const { begun, warmUp, callAt } = world();
    const { us, mark } = await callAt(602_000);
    expect([us, mark.temperature]).toEqual([CALL_MS * MS, "warm"]);
    expect(times(begun, "handshake")).toBe(6);
    expect(times(begun, "registry")).toBe(1);
    warmUp.close();
  });
});

describe("RT-16: the server that refuses", () => {
  it("is reported and tried again, and blocks nothing", async () => {
    const { clock, begun, warmUp } = world();
    await clock.run(3_000 * MS);
    expect(warmUp.isReady).toBe(true);
    expect(times(begun, "refusing")).toBeGreaterThan(1);
    const registry = await warmUp.get<ToolRegistryCache>("tools");
    const item = registry.report().items.find(({ name }) => name === "refusing");
    expect(item).toMatchObject({ isRequired: false, error: "connection refused" });
    registry.close();
    warmUp.close();
  });
});

describe("RT-16: figures", () => {
  it("of cold and of warm calls are two", async () => {
    const { clock, warmUp, call, callAt } = world();
    const latency = new ClassedLatency();
    const early = call();
    await clock.run(2_000 * MS);
    const { us, mark } = await early;
    latency.record(us, mark);
    for (let i = 0; i < 5; i += 1) {
      const warm = await callAt(5_000 + i * 5_000);
      latency.record(warm.us, warm.mark);
    }
    expect(latency.quantile(0.5, "cold")).toMatchObject({ value: 905 * MS, n: 1 });
    expect(latency.quantile(0.5, "warm")).toMatchObject({ value: CALL_MS * MS, n: 5 });
    expect(() => latency.quantile(0.5, "all" as never)).toThrow("cold and warm calls together");
    warmUp.close();
  });
});

describe("RT-16: 64 schemas that are compiled at the start after all", () => {
  it("let the event loop turn in between, and a call for one of them does not wait for all", async () => {
    const tools = toolSchemas(64).map(({ name, schema }) =>
      tool({ name, effect: "pure", input: schema, run: () => "done" }),
    );
    // The compiler itself is loaded: what turns the event loop below is not that.
    await new ToolBox(tools.slice(0, 1)).warm();
    const box = new ToolBox(tools);
    let turns = 0;
    let isDone = false;
    const count = (): void => {
      turns += 1;
      if (!isDone) setImmediate(count);
    };
    const warming = box.warm().then(() => {
      isDone = true;
    });
    setImmediate(count);
    const last = await box.check(box.get("tool_63")!, {});
    expect(last).toHaveProperty("problem");
    const wasDone = isDone;
    await warming;
    expect(wasDone).toBe(false);
    expect(turns).toBeGreaterThan(2);
  });
});
