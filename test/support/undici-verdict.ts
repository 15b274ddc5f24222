/** What undici, and llhttp in it, makes of the bytes of a response: the reference for our own parser. */
import { Duplex } from "node:stream";
import { Client } from "undici";

export interface Verdict {
  readonly status: number;
  /** Names and values in turn. */
  readonly rawHeaders: readonly string[];
  readonly body: string;
}

/** A socket on which `answer` comes as soon as a request is written, and then an end. */
function socketThatSays(answer: Buffer): Duplex {
  const socket = new Duplex({
    read: () => undefined,
    write(_chunk, _encoding, done) {
      done();
      if (hasSpoken) return;
      hasSpoken = true;
      // Not within the write, when undici has not noted yet that it waits for something.
      queueMicrotask(() => {
        socket.push(answer);
        socket.push(null);
      });
    },
  });
  let hasSpoken = false;
  return Object.assign(socket, { ref: () => socket, unref: () => socket });
}

/** @returns undefined if it says that the response is broken or not whole. */
export function undiciVerdict(answer: Buffer): Promise<Verdict | undefined> {
  return new Promise((resolve) => {
    const client = new Client("http://upstream.test", {
      // Called from within undici's own loop, which must be left first.
      connect: (_options, callback) =>
        queueMicrotask(() => callback(null, socketThatSays(answer) as never)),
      headersTimeout: 0,
      bodyTimeout: 0,
    });
    let head: Omit<Verdict, "body"> | undefined;
    const parts: Buffer[] = [];
    const finish = (verdict: Verdict | undefined): void => {
      resolve(verdict);
      void client.destroy();
    };
    client.dispatch(
      { method: "POST", path: "/" },
      {
        onRequestStart: () => undefined,
        onResponseStart: (controller, status) => {
          if (status < 200) return;
          const raw = controller.rawHeaders as Buffer[];
          head = { status, rawHeaders: raw.map((part) => part.toString("latin1")) };
        },
        onResponseData: (_controller, chunk) => {
          parts.push(chunk);
        },
        onResponseEnd: () => finish({ ...head!, body: Buffer.concat(parts).toString("latin1") }),
        onResponseError: () => finish(undefined),
      },
    );
  });
}
