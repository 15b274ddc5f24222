import type { Socket } from "node:net";
import { Duplex } from "node:stream";
import { setImmediate as turn } from "node:timers/promises";
import { describe, expect, it, vi } from "vitest";
import { SimClock } from "../../clock/index.ts";
import type { UpstreamRequest } from "./channel.ts";
import { H1Connection } from "./h1-connection.ts";

const BODY = Buffer.from('{"a":1}');
const REQUEST: UpstreamRequest = {
  method: "POST",
  path: "/v1/x",
  headers: ["X-a", "b\xe9"],
  body: BODY,
};
const ON_WIRE =
  'POST /v1/x HTTP/1.1\r\nhost: up.test:8080\r\nconnection: keep-alive\r\nX-a: b\xe9\r\ncontent-length: 7\r\n\r\n{"a":1}';
const ANSWER = "HTTP/1.1 200 OK\r\nkeep-alive: timeout=7\r\ncontent-length: 2\r\n\r\nok";

/** A connection on a socket in memory, and all that it says, in order. */
function stage({ takesAll = true } = {}) {
  const log: string[] = [];
  const written: Buffer[] = [];
  const socket = new Duplex({
    allowHalfOpen: false,
    read: () => undefined,
    write(chunk: Buffer, _encoding, done) {
      written.push(chunk);
      if (takesAll) done();
    },
  });
  const clock = new SimClock();
  const connection = new H1Connection({
    origin: new URL("http://up.test:8080"),
    socket: socket as Socket,
    marks: { reuse: "new", protocol: "http/1.1", dnsUs: 1, tcpUs: 2, tlsUs: 0 },
    clock,
    events: {
      onIdle: (idle) => {
        log.push("idle");
        idle.keep(clock.nowUs());
      },
      onHint: (hint) => log.push(`hint ${hint}`),
      onClosed: (_closed, byPeer) => log.push(`closed ${byPeer ? "by peer" : "here"}`),
    },
  });
  const send = (request: UpstreamRequest = REQUEST): void => {
    connection.begin();
    connection.send(request, {
      head: (status) => log.push(`head ${status}`),
      bytes: (chunk) => log.push(String(chunk)),
      end: () => {
        log.push("end");
        connection.release();
      },
      broken: (kind, { message }) => log.push(`${kind}: ${message}`),
    });
  };
  const hear = async (bytes: string): Promise<void> => {
    socket.push(Buffer.from(bytes, "latin1"));
    await turn();
  };
  const fin = async (): Promise<void> => {
    socket.push(null);
    await turn();
  };
  const reset = async (): Promise<void> => {
    socket.destroy(Object.assign(new Error("read ECONNRESET"), { code: "ECONNRESET" }));
    await turn();
  };
  const sent = (): string => Buffer.concat(written).toString("latin1");
  return { connection, socket, clock, log, written, sent, send, hear, fin, reset };
}

/** With one request that ended well behind it. */
async function kept() {
  const staged = stage();
  staged.send();
  await staged.hear(ANSWER);
  staged.log.length = 0;
  staged.written.length = 0;
  return staged;
}

describe("a request on an H1Connection", () => {
  it("goes out in one write, and its answer comes with all that one read brought", async () => {
    const { send, written, sent, hear, log } = stage();
    send();
    expect([written.length, sent()]).toEqual([1, ON_WIRE]);
    await hear(ANSWER);
    expect(log).toEqual(["hint timeout=7", "head 200", "ok", "end", "idle"]);
  });

  it("says how long it is, or nothing of it, as its method has it", () => {
    const post = stage();
    post.send({ ...REQUEST, headers: [], body: null });
    expect(post.sent()).toMatch(/\r\ncontent-length: 0\r\n\r\n$/);
    const get = stage();
    get.send({ ...REQUEST, method: "GET", headers: [], body: null });
    expect(get.sent()).toBe(
      "GET /v1/x HTTP/1.1\r\nhost: up.test:8080\r\nconnection: keep-alive\r\n\r\n",
    );
  });

  it("goes out whole, whatever its size", () => {
    const { send, sent } = stage();
    send({ ...REQUEST, body: Buffer.alloc(100_000, "x") });
    expect(sent().endsWith(`content-length: 100000\r\n\r\n${"x".repeat(100_000)}`)).toBe(true);
  });

  it.each<[string, Partial<UpstreamRequest>]>([
    ["a path with an end of line", { path: "/x\r\na: b" }],
    ["a path with a space", { path: "/x HTTP/1.1" }],
    ["a path that is none", { path: "x" }],
    ["an end of line in a value", { headers: ["a", "b\r\nc: d"] }],
    ["a bare LF in a value", { headers: ["a", "b\nc"] }],
    ["a NUL in a value", { headers: ["a", "b\0"] }],
    ["a character of more than a byte", { headers: ["a", "\u010a"] }],
    ["a name that is none", { headers: ["a b", "c"] }],
    ["an empty name", { headers: ["", "c"] }],
    ["a name with an end of line", { headers: ["a\r\nb", "c"] }],
    ["a length of its own", { headers: ["Content-Length", "1"] }],
    ["a coding of its own", { headers: ["transfer-encoding", "chunked"] }],
    ["a host of its own", { headers: ["HOST", "x"] }],
  ])("is not sent with %s, and its secrets are not in the error", (_name, part) => {
    const { send, sent, log } = stage();
    send({ ...REQUEST, ...part });
    expect([sent(), log.length, log[0], log[1]]).toEqual([
      "",
      2,
      "closed here",
      expect.stringMatching(/^local: the (path|header ".*") cannot be sent$/),
    ]);
  });

  it("waits on a kept connection until what was there before it has been read", async () => {
    const { send, sent, clock, connection } = await kept();
    send();
    expect([sent(), connection.marks.reuse]).toEqual(["", "reused"]);
    clock.runSync();
    expect(sent()).toBe(ON_WIRE);
  });

  it.each(["hear", "fin", "reset"] as const)(
    "is not sent where that (%s) ends the connection, and takes nothing for its answer",
    async (how) => {
      const { send, sent, clock, log, ...staged } = await kept();
      send();
      await staged[how](ANSWER);
      clock.runSync();
      expect([sent(), log]).toEqual([
        "",
        ["closed by peer", expect.stringMatching(/^reuse_race: /)],
      ]);
    },
  );

  it.each(["fin", "reset"] as const)(
    "that finds a kept connection dead (%s) is no fault of the upstream, until a byte has come",
    async (how) => {
      const silent = await kept();
      silent.send();
      silent.clock.runSync();
      await silent[how]();
      expect(silent.log[1]).toMatch(/^reuse_race: /);
      const heard = await kept();
      heard.send();
      heard.clock.runSync();
      await heard.hear("HTTP/1.1 2");
      await heard[how]();
      expect(heard.log).toEqual(["closed by peer", expect.stringMatching(/^cut: /)]);
      const fresh = stage();
      fresh.send();
      await fresh[how]();
      expect(fresh.log[1]).toMatch(/^cut: /);
    },
  );

  it.each(["fin", "reset"] as const)("that is cut in its answer (%s) says so", async (how) => {
    const { send, hear, log, ...staged } = stage();
    send();
    await hear("HTTP/1.1 200 OK\r\ncontent-length: 9\r\n\r\nhalf");
    await staged[how]();
    expect(log.slice(0, 3)).toEqual(["head 200", "half", "closed by peer"]);
    expect(log[3]).toMatch(/^cut: /);
    expect(log).toHaveLength(4);
  });

  it("whose answer has no length ends with the connection's end, and with nothing else", async () => {
    const unsized = "HTTP/1.1 200 OK\r\n\r\nall";
    const ended = stage();
    ended.send();
    await ended.hear(unsized);
    await ended.fin();
    expect(ended.log).toEqual(["head 200", "all", "end", "closed here"]);
    const broken = stage();
    broken.send();
    await broken.hear(unsized);
    await broken.reset();
    expect(broken.log.slice(2)).toEqual(["closed by peer", "cut: read ECONNRESET"]);
  });

  it("that is answered by no HTTP is told what is wrong", async () => {
    const { send, hear, log } = stage();
    send();
    await hear("HTTP/1.1 200 OK\r\na : b\r\n\r\n");
    expect(log).toEqual(["closed by peer", "garbage: a malformed header"]);
  });

  it("is silent once it is cancelled, and breaks when the connection is closed", async () => {
    const cancelled = stage();
    cancelled.send();
    cancelled.connection.cancel();
    await cancelled.hear(ANSWER);
    expect(cancelled.log).toEqual(["closed here"]);
    const closed = stage();
    closed.send();
    closed.connection.close();
    expect(closed.log).toEqual(["closed here", "cut: the connection was given up"]);
    const due = await kept();
    due.send();
    const write = vi.spyOn(due.socket, "write");
    due.connection.cancel();
    due.clock.runSync();
    expect([write.mock.calls.length, due.log]).toEqual([0, ["closed here"]]);
  });
});

describe("an H1Connection", () => {
  it.each([
    ["the answer says so", "HTTP/1.1 200 OK\r\nconnection: close\r\ncontent-length: 2\r\n\r\nok"],
    ["more came than the answer", `${ANSWER}H`],
  ])("takes no other request if %s", async (_why, answer) => {
    const { send, hear, log, connection } = stage();
    send();
    await hear(answer);
    expect(log.slice(-3)).toEqual(["ok", "end", "closed here"]);
    expect(connection.isOpen).toBe(false);
  });

  it("takes no other if its request was answered before it was sent whole", async () => {
    const { send, hear, log } = stage({ takesAll: false });
    send({ ...REQUEST, body: Buffer.alloc(1_000_000) });
    await hear("HTTP/1.1 413 Too Large\r\ncontent-length: 0\r\n\r\n");
    expect(log).toEqual(["head 413", "end", "closed here"]);
  });

  it.each(["hear", "fin", "reset"] as const)(
    "that is idle closes with what comes (%s)",
    async (how) => {
      const { log, connection, ...staged } = await kept();
      await staged[how](ANSWER);
      expect([log, connection.isOpen]).toEqual([["closed by peer"], false]);
    },
  );

  it("reads no more while its valve is shut, and loses nothing, not even an end", async () => {
    const { send, hear, fin, log, connection } = stage();
    send();
    await hear("HTTP/1.1 200 OK\r\n\r\na");
    connection.shutValve();
    await hear("b");
    await hear("c");
    await fin();
    expect(log).toEqual(["head 200", "a"]);
    connection.openValve();
    await turn();
    expect(log).toEqual(["head 200", "a", "b", "c", "end", "closed here"]);
  });
});
