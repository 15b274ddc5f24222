import { describe, expect, it } from "vitest";
import { FINISH, play, runtimeWorld, wholeCall } from "../../test/support/runtime-world.ts";

describe("needs", () => {
  it("make a call wait for those before it, and run the others beside each other", async () => {
    const world = runtimeWorld();
    const tools = [
      world.timed("user", 200),
      world.timed("orders", 300, { needs: ["user"] }),
      world.timed("weather", 400, { needs: ["user"] }),
    ];
    const step = world.turn(tools).step("openai-chat");
    play(world, step, [
      [0, wholeCall(0, "user")],
      [0, wholeCall(1, "orders")],
      [0, wholeCall(2, "weather")],
      [0, FINISH],
    ]);
    await world.clock.run();
    const results = await step.results();
    expect(results.map(({ times }) => times.startedUs! / 1_000)).toEqual([0, 200, 200]);
    expect(results.at(-1)?.times.endedUs).toBe(600_000);
  });

  it("hold a call whose need comes behind it until the message has ended", async () => {
    const world = runtimeWorld();
    const tools = [world.timed("user", 200), world.timed("orders", 300, { needs: ["user"] })];
    const step = world.turn(tools).step("openai-chat");
    play(world, step, [
      [0, wholeCall(0, "orders")],
      [50, wholeCall(1, "user")],
      [100, FINISH],
    ]);
    await world.clock.run();
    expect(world.runs.map(({ name, atMs }) => [name, atMs])).toEqual([
      ["user", 50],
      ["orders", 250],
    ]);
  });

  it("that are not called at all hold nothing", async () => {
    const world = runtimeWorld();
    const tools = [world.timed("user", 200), world.timed("orders", 300, { needs: ["user"] })];
    const step = world.turn(tools).step("openai-chat");
    play(world, step, [
      [0, wholeCall(0, "orders")],
      [100, FINISH],
    ]);
    await world.clock.run();
    expect(world.runs).toEqual([{ name: "orders", args: {}, atMs: 100 }]);
  });

  it("that fail skip what needs them and nothing else", async () => {
    const world = runtimeWorld();
    const tools = [
      world.timed("user", 200),
      world.timed("orders", 300, {
        needs: ["user"],
        run: async () => {
          await world.sleep(300);
          throw new Error("no data base");
        },
      }),
      world.timed("weather", 400, { needs: ["user"] }),
      world.timed("invoice", 10, { needs: ["orders"] }),
    ];
    const step = world.turn(tools).step("openai-chat");
    const names = ["user", "orders", "weather", "invoice"];
    play(world, step, [...names.map((name, i) => [0, wholeCall(i, name)] as const), [0, FINISH]]);
    await world.clock.run();
    const results = await step.results();
    expect(results.map(({ status, text }) => [status, text])).toEqual([
      ["ok", "user is done"],
      ["failed", "error: no data base"],
      ["ok", "weather is done"],
      ["skipped", "error: not run, since orders, which it needs, failed"],
    ]);
    expect(results[2]?.times.endedUs).toBe(600_000);
  });
});
