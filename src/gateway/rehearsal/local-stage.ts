/**
 * The two ends that a rehearsed gateway stands between, on loopback: callers that ask, and an upstream that answers. Plain
 * sockets and prepared bytes, so that they cost little, and leave nothing behind in the code that a gateway runs on.
 */
import { type AddressInfo, connect, createServer, type Server, type Socket } from "node:net";
import { realClock } from "../../clock/index.ts";
import { US_PER_MS } from "../../core/index.ts";
import { type Answer, answersTo } from "./upstream-answers.ts";
import { WholeMessage } from "./whole-message.ts";

/** What is to be played; plain data, since it may be played in another thread. */
export interface Play {
  /** Of gateways; the callers take turns among them. */
  readonly ports: readonly number[];
  /** Whole requests; each call takes the next. */
  readonly requests: readonly Uint8Array[];
  readonly calls: number;
}

export interface Played {
  /** That have come to an end; those that were cut short when the time was over are none. */
  readonly calls: number;
  /** Of these, without an answer. */
  readonly failed: number;
}

class Tally implements Played {
  begun = 0;
  calls = 0;
  failed = 0;
}

/** Enough that others go on while a paced stream waits for its next event. */
const SIDE_BY_SIDE = 16;
/** Then a caller leaves and another one comes. */
const CALLS_PER_CONNECTION = 50;
/** An answer, or a refusal of the stage's own upstream that the policy does not retry. */
const ANSWERED = /^HTTP\/1\.1 (200|429) /;

export class LocalStage {
  readonly #server: Server;
  readonly #sockets = new Set<Socket>();
  #answered = 0;
  #isStopped = false;

  constructor() {
    this.#server = createServer({ noDelay: true }, (socket) => this.#serve(socket));
  }

  /** @returns the port of the upstream. */
  open(): Promise<number> {
    return new Promise((resolve, reject) => {
      // Also later: a socket that could not be taken is one call less.
      this.#server.on("error", reject);
      // Among workers that share their ports, this one is not to be dealt out to others.
      this.#server.listen({ host: "127.0.0.1", port: 0, exclusive: true }, () =>
        resolve((this.#server.address() as AddressInfo).port),
      );
    });
  }

  /** @returns what came of it, or of the part until it was stopped. */
  async play(play: Play): Promise<Played> {
    const tally = new Tally();
    const callers = Array.from({ length: SIDE_BY_SIDE }, (_, i) => {
      return this.#call(play, play.ports[i % play.ports.length]!, tally);
    });
    await Promise.all(callers);
    return { calls: tally.calls, failed: tally.failed };
  }

  /** One caller after the other on one gateway, each with a connection of its own. */
  async #call(play: Play, port: number, tally: Tally): Promise<void> {
    let socket: Socket | undefined;
    for (let own = 0; tally.begun < play.calls && !this.#isStopped; own += 1) {
      const request = play.requests[tally.begun % play.requests.length]!;
      tally.begun += 1;
      if (socket === undefined || socket.destroyed || own % CALLS_PER_CONNECTION === 0) {
        socket?.destroy();
        socket = this.#keep(connect({ host: "127.0.0.1", port, noDelay: true }));
      }
      const isAnswered = await ask(socket, request);
      if (!isAnswered && this.#isStopped) return;
      tally.calls += 1;
      if (!isAnswered) tally.failed += 1;
    }
    socket?.destroy();
  }

  /** Whatever is played ends. */
  stop(): void {
    this.#isStopped = true;
    for (const socket of this.#sockets) socket.destroy();
  }

  close(): Promise<void> {
    this.stop();
    return new Promise((resolve) => this.#server.close(() => resolve()));
  }

  #keep(socket: Socket): Socket {
    this.#sockets.add(socket);
    socket.on("error", () => undefined);
    socket.once("close", () => this.#sockets.delete(socket));
    return socket;
  }

  #serve(socket: Socket): void {
    this.#keep(socket);
    let asked = new WholeMessage();
    const reads: Buffer[] = [];
    socket.on("data", (read) => {
      reads.push(read);
      if (!asked.push(read)) return;
      const request = Buffer.concat(reads.splice(0)).toString("latin1");
      asked = new WholeMessage();
      const answers = answersTo(request);
      this.#answered += 1;
      write(socket, answers[this.#answered % answers.length]!, 0);
    });
  }
}

/** The parts in reads of their own, as far as the machine lets them. */
function write(socket: Socket, answer: Answer, at: number): void {
  if (socket.destroyed) return;
  socket.write(answer.parts[at]!);
  if (at + 1 === answer.parts.length) return;
  const nextUs = realClock.nowUs() + answer.gapMs * US_PER_MS;
  realClock.at(nextUs, () => write(socket, answer, at + 1));
}

/** @returns whether it was answered. */
function ask(socket: Socket, request: Uint8Array): Promise<boolean> {
  return new Promise((resolve) => {
    const answer = new WholeMessage();
    const end = (isAnswered: boolean): void => {
      socket.off("data", onData);
      socket.off("close", onClose);
      resolve(isAnswered);
    };
    const onData = (read: Buffer): void => {
      if (answer.push(read)) end(ANSWERED.test(answer.head));
    };
    const onClose = (): void => end(false);
    socket.on("data", onData);
    socket.on("close", onClose);
    socket.write(request);
  });
}
