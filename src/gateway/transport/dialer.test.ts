import type { LookupAddress } from "node:dns";
import { type AddressInfo, createServer, type Server } from "node:net";
import { networkInterfaces } from "node:os";
import { describe, expect, it, onTestFinished } from "vitest";
import { realClock } from "../../clock/index.ts";
import { type Dialed, Dialer } from "./dialer.ts";
import type { NameService } from "./name-service.ts";
import { Network } from "./network.ts";

async function listening(host = "127.0.0.1", port = 0): Promise<Server> {
  const server = createServer((socket) => socket.on("error", () => undefined));
  await new Promise<void>((resolve) => server.listen(port, host, resolve));
  onTestFinished(() => {
    server.close();
  });
  return server;
}

function namesOf(...texts: readonly string[]): NameService & { lookups: number } {
  return {
    lookups: 0,
    lookup(): Promise<readonly LookupAddress[]> {
      this.lookups += 1;
      return Promise.resolve(
        texts.map((address) => ({ address, family: address.includes(":") ? 6 : 4 })),
      );
    },
    records: () => Promise.resolve([]),
    close: () => undefined,
  };
}

function dialerTo(origin: string, names: NameService) {
  const network = new Network(realClock, names);
  const dialer = new Dialer({ origin: new URL(origin), network, clock: realClock, tls: {} });
  const dial = (): Promise<Dialed> =>
    new Promise((resolve, reject) => {
      dialer.dial(false, (error, dialed) => {
        if (dialed === undefined) reject(error);
        else {
          dialed.socket.destroy();
          resolve(dialed);
        }
      });
    });
  return { network, dialer, dial };
}

const hasIpv6 = Object.values(networkInterfaces()).some((each) =>
  each?.some(({ address }) => address === "::1"),
);
const portOf = (server: Server): number => (server.address() as AddressInfo).port;

describe("Dialer", () => {
  it("looks a name up once for many connections, and says what each stage took", async () => {
    const names = namesOf("127.0.0.1");
    const { dial } = dialerTo(`http://api.test:${portOf(await listening())}`, names);
    const { marks } = await dial();
    expect(marks).toMatchObject({ reuse: "new", protocol: "http/1.1", tlsUs: 0 });
    for (const us of [marks.dnsUs, marks.tcpUs]) expect(Number.isInteger(us) && us >= 0).toBe(true);
    await dial();
    await dial();
    expect(names.lookups).toBe(1);
  });

  it.each(hasIpv6 ? ["127.0.0.1", "[::1]"] : ["127.0.0.1"])(
    "asks nobody for the address %s",
    async (host) => {
      const names = namesOf("192.0.2.1");
      const server = await listening(host.replace(/[[\]]/g, ""));
      const { marks } = await dialerTo(`http://${host}:${portOf(server)}`, names).dial();
      expect([names.lookups, marks.dnsUs]).toEqual([0, 0]);
    },
  );

  it("goes on to the next address where nobody listens, and does not begin there again", async () => {
    const port = portOf(await listening());
    const { dial, network } = dialerTo(
      `http://api.test:${port}`,
      namesOf("127.0.0.2", "127.0.0.1"),
    );
    const { socket } = await dial();
    expect(socket.destroyed).toBe(true);
    for (let i = 0; i < 4; i += 1) {
      const first = await new Promise<string>((resolve) => {
        network.dns.resolve("api.test", (_error, found) => resolve(found[0]!.address));
      });
      expect(first).toBe("127.0.0.1");
    }
  });

  it("tries both families", async () => {
    const port = portOf(await listening("127.0.0.1"));
    const { marks } = await dialerTo(`http://api.test:${port}`, namesOf("::1", "127.0.0.1")).dial();
    expect(marks.reuse).toBe("new");
  });

  it("tells a name that does not exist, and an address where nobody listens", async () => {
    const missing: NameService = {
      lookup: () => Promise.reject(Object.assign(new Error("no"), { code: "ENOTFOUND" })),
      records: () => Promise.resolve([]),
      close: () => undefined,
    };
    await expect(dialerTo("http://api.test", missing).dial()).rejects.toMatchObject({
      code: "ENOTFOUND",
    });
    const server = await listening();
    const port = portOf(server);
    await new Promise((resolve) => server.close(resolve));
    await expect(
      dialerTo(`http://api.test:${port}`, namesOf("127.0.0.1")).dial(),
    ).rejects.toMatchObject({ code: "ECONNREFUSED" });
  });

  it("calls nobody back who has given up, while it looks up or connects", async () => {
    const server = await listening();
    const names = namesOf("127.0.0.1");
    const { dialer } = dialerTo(`http://api.test:${portOf(server)}`, names);
    let called = 0;
    const count = (): void => {
      called += 1;
    };
    dialer.dial(false, count)();
    const cancel = dialer.dial(false, count);
    // The lookup ends within this turn; a socket never connects in it.
    for (let i = 0; i < 10; i += 1) await Promise.resolve();
    cancel();
    await new Promise((resolve) => setTimeout(resolve, 30));
    expect([names.lookups, called]).toEqual([1, 0]);
  });
});
