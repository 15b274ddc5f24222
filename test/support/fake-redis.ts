/**
 * As much of a Redis server as shared limits need: the protocol (RESP2), the client's greeting, and the scripts of
 * src/gateway/shared-state, each done here in TypeScript by the name in its first line. It can be slow, mute, gone and back
 * on the same port. That the Lua itself is right only a real server can show: bench/peers/redis.ts.
 */
import { createHash } from "node:crypto";
import { createServer, type Server, type Socket } from "node:net";

type Answer = number | string | null | readonly Answer[];
type Handler = (keys: readonly string[], args: readonly string[], nowUs: number) => Answer;

class WrongCommand extends Error {}

/** `SET … PX`, sorted sets by member, both with an end. */
class Store {
  readonly values = new Map<string, { text: string; endUs: number }>();
  readonly sets = new Map<string, Map<string, number>>();

  get(key: string, nowUs: number): number {
    const value = this.values.get(key);
    return value === undefined || value.endUs <= nowUs ? 0 : Number(value.text);
  }

  members(key: string, nowUs: number): Map<string, number> {
    const members = this.sets.get(key) ?? new Map<string, number>();
    this.sets.set(key, members);
    for (const [member, score] of members) if (score <= nowUs) members.delete(member);
    return members;
  }
}

function handlers(store: Store): Record<string, Handler> {
  const put = (key: string, fullUs: number, nowUs: number): void => {
    store.values.set(key, { text: String(Math.round(fullUs)), endUs: fullUs + 1_000_000 });
    if (fullUs <= nowUs) store.values.delete(key);
  };
  return {
    manxAcquire: ([bucket, leases], args, nowUs) => {
      const [perToken, burst, tokens, places, , lasts] = args.map(Number) as [
        number,
        number,
        number,
        number,
        number,
        number,
      ];
      const members = store.members(leases!, nowUs);
      if (places > 0 && members.size >= places) return [-1, Math.min(...members.values()) - nowUs];
      if (perToken > 0) {
        const full = Math.max(nowUs, store.get(bucket!, nowUs));
        const readyUs = full - (burst - 1) * perToken;
        if (readyUs > nowUs) return [0, Math.ceil(readyUs - nowUs)];
        put(bucket!, full + tokens * perToken, nowUs);
      }
      if (places > 0) members.set(args[4]!, nowUs + lasts);
      return [1, 0];
    },
    manxRelease: ([bucket, leases], args, nowUs) => {
      store.members(leases!, nowUs).delete(args[2]!);
      const [perToken, tokens] = [Number(args[0]), Number(args[1])];
      if (perToken === 0 || tokens === 0) return 1;
      const full = store.get(bucket!, nowUs);
      put(bucket!, (tokens > 0 ? Math.max(nowUs, full) : full) + tokens * perToken, nowUs);
      return 1;
    },
    manxRenew: ([leases], [lasts, ...ids], nowUs) => {
      for (const id of ids) store.members(leases!, nowUs).set(id, nowUs + Number(lasts));
      return ids.length;
    },
    manxPresent: ([gateways], [id, lasts], nowUs) => {
      const members = store.members(gateways!, nowUs);
      if (Number(lasts) > 0) members.set(id!, nowUs + Number(lasts));
      else members.delete(id!);
      return members.size;
    },
    manxSetBreakers: (keys, [us], nowUs) => {
      for (const key of keys) {
        if (Number(us) > 0) store.values.set(key, { text: "1", endUs: nowUs + Number(us) });
        else store.values.delete(key);
      }
      return keys.length;
    },
    manxGetBreakers: (keys, _, nowUs) =>
      keys.map((key) => Math.ceil(((store.values.get(key)?.endUs ?? 0) - nowUs) / 1_000)),
  };
}

export interface FakeRedisOptions {
  readonly nowUs: () => number;
}

export class FakeRedis {
  readonly #nowUs: () => number;
  readonly #sockets = new Set<Socket>();
  readonly #scripts = new Map<string, string>();
  #handlers: Record<string, Handler>;
  #store = new Store();
  #server: Server | undefined;
  #port = 0;
  /** Scripts run, by name. */
  readonly ran: Record<string, number> = {};
  /** Connections ever. */
  greetings = 0;
  /** Answers are kept back while this is set; `flush` sends them. */
  isMute = false;
  /** What a script answers instead of its result. */
  wrongReply: string | undefined;
  #kept: (() => void)[] = [];

  constructor({ nowUs }: FakeRedisOptions) {
    this.#nowUs = nowUs;
    this.#handlers = handlers(this.#store);
  }

  get url(): string {
    return `redis://127.0.0.1:${this.#port}`;
  }

  get connections(): number {
    return this.#sockets.size;
  }

  /** Leases of a tenant that have not lapsed. */
  leases(tenant: string): number {
    return this.#store.members(`manx:{${tenant}}:leases`, this.#nowUs()).size;
  }

  /** On the same port as before, if it has been up before. */
  async start(): Promise<void> {
    const server = createServer((socket) => this.#serve(socket));
    this.#server = server;
    await new Promise<void>((resolve) => server.listen(this.#port, "127.0.0.1", resolve));
    this.#port = (server.address() as { port: number }).port;
  }

  /** @param forgets all that it knew, as a restart without a disk does. */
  async stop(forgets = false): Promise<void> {
    for (const socket of this.#sockets) socket.destroy();
    await new Promise<void>((resolve) => {
      if (this.#server === undefined) resolve();
      else this.#server.close(() => resolve());
    });
    this.#server = undefined;
    this.#kept = [];
    this.#scripts.clear();
    if (!forgets) return;
    this.#store = new Store();
    this.#handlers = handlers(this.#store);
  }

  flush(): void {
    for (const send of this.#kept.splice(0)) send();
  }

  #serve(socket: Socket): void {
    this.#sockets.add(socket);
    this.greetings += 1;
    socket.setNoDelay(true);
    let rest = Buffer.alloc(0);
    socket.on("data", (bytes) => {
      rest = Buffer.concat([rest, bytes]);
      for (let parsed = parseCommand(rest); parsed !== undefined; parsed = parseCommand(rest)) {
        rest = rest.subarray(parsed.bytes);
        this.#answer(socket, parsed.words);
      }
    });
    socket.on("error", () => {});
    socket.on("close", () => this.#sockets.delete(socket));
  }

  #answer(socket: Socket, words: readonly string[]): void {
    let text: string;
    try {
      text = encode(this.#run(words));
    } catch (thrown) {
      text = `-${thrown instanceof WrongCommand ? thrown.message : `ERR ${String(thrown)}`}\r\n`;
    }
    const send = (): void => {
      if (!socket.destroyed) socket.write(text);
    };
    if (this.isMute) this.#kept.push(send);
    else send();
  }

  #run([command = "", ...words]: readonly string[]): Answer {
    const name = command.toLowerCase();
    if (name === "info") return "redis_version:7.0.0\r\nloading:0\r\n";
    if (["client", "select", "ping", "auth", "quit"].includes(name)) return "OK";
    if (name !== "eval" && name !== "evalsha") throw new WrongCommand(`ERR unknown '${command}'`);
    const [script = "", count = "0", ...rest] = words;
    if (name === "eval") this.#scripts.set(sha1(script), /-- (\w+)/.exec(script)?.[1] ?? "");
    const known = this.#scripts.get(name === "eval" ? sha1(script) : script);
    if (known === undefined) throw new WrongCommand("NOSCRIPT No matching script");
    this.ran[known] = (this.ran[known] ?? 0) + 1;
    if (this.wrongReply !== undefined) return this.wrongReply;
    const keys = rest.slice(0, Number(count));
    return this.#handlers[known]!(keys, rest.slice(Number(count)), this.#nowUs());
  }
}

function sha1(text: string): string {
  return createHash("sha1").update(text).digest("hex");
}

/** `*2\r\n$4\r\nPING\r\n…`; undefined if it is not all there yet. */
function parseCommand(buffer: Buffer): { words: string[]; bytes: number } | undefined {
  let at = 0;
  const line = (): string | undefined => {
    const end = buffer.indexOf("\r\n", at);
    if (end < 0) return undefined;
    const text = buffer.toString("latin1", at, end);
    at = end + 2;
    return text;
  };
  const head = line();
  if (head === undefined) return undefined;
  const words: string[] = [];
  for (let left = Number(head.slice(1)); left > 0; left -= 1) {
    const size = Number(line()?.slice(1) ?? Number.NaN);
    if (!Number.isFinite(size) || buffer.length < at + size + 2) return undefined;
    words.push(buffer.toString("utf8", at, at + size));
    at += size + 2;
  }
  return { words, bytes: at };
}

function encode(answer: Answer): string {
  if (answer === null) return "$-1\r\n";
  if (typeof answer === "number") return `:${answer}\r\n`;
  if (typeof answer === "string") return `$${Buffer.byteLength(answer)}\r\n${answer}\r\n`;
  return `*${answer.length}\r\n${answer.map(encode).join("")}`;
}
