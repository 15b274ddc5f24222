import { describe, expect, it } from "vitest";
import { Berth } from "./berth.ts";
import type { Channel } from "./channel.ts";
import type { Waiter } from "./opening.ts";

function waitingBerth() {
  const log: string[] = [];
  let waiter: Waiter | undefined;
  const berth = new Berth(
    {
      await: (one) => {
        waiter = one;
        return () => log.push("left");
      },
      raced: (idleUs) => log.push(`raced ${idleUs}`),
      ended: () => log.push("ended"),
    },
    undefined,
  );
  const channel: Channel = {
    marks: { reuse: "new", protocol: "h2", dnsUs: 0, tcpUs: 0, tlsUs: 0 },
    send: () => log.push("send"),
    shutValve: () => undefined,
    openValve: () => undefined,
    release: () => log.push("release"),
    cancel: () => log.push("cancel"),
  };
  berth.open((error) => log.push(error === null ? "open" : error.message));
  return { berth, log, channel, waiter: waiter! };
}

describe("Berth", () => {
  it("ends once, whatever is called", () => {
    const { berth, log, channel, waiter } = waitingBerth();
    waiter.opened(channel);
    berth.release();
    berth.cancel();
    berth.release();
    expect(log).toEqual(["open", "ended", "release"]);
  });

  it("leaves the line that it waits in by then", () => {
    const { berth, log, waiter } = waitingBerth();
    waiter.moved(() => log.push("left the other"));
    berth.cancel();
    expect(log).toEqual(["ended", "left the other"]);
  });

  it("lets a place go that comes in the turn in which it was cancelled, and tells nobody", () => {
    const { berth, log, channel, waiter } = waitingBerth();
    berth.cancel();
    waiter.opened(channel);
    expect(log).toEqual(["ended", "left", "release"]);
  });

  it("tells nobody of a failure that comes after that", () => {
    const { berth, log, waiter } = waitingBerth();
    berth.cancel();
    waiter.failed(new Error("no connection"));
    expect(log).toEqual(["ended", "left"]);
  });
});
