import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { WholeMessage } from "./whole-message.ts";

const SIZED = "HTTP/1.1 200 OK\r\nContent-Length: 7\r\n\r\nit is.\n";
const CHUNKED =
  "HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n3\r\na0\n\r\n7\r\nit is.\n\r\n0\r\n\r\n";
const EMPTY = "HTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n";

describe("a message", () => {
  it("is whole with its last byte and not before, however it is cut", () => {
    const cuts = fc.array(fc.integer({ min: 1, max: 12 }), { minLength: 1 });
    fc.assert(
      fc.property(fc.constantFrom(SIZED, CHUNKED, EMPTY), cuts, (text, sizes) => {
        const bytes = Buffer.from(text);
        const message = new WholeMessage();
        const whole: boolean[] = [];
        for (let at = 0, i = 0; at < bytes.length; i += 1) {
          const size = sizes[i % sizes.length]!;
          const part = bytes.subarray(at, at + size);
          at += size;
          whole.push(message.push(part));
        }
        expect(whole.pop()).toBe(true);
        expect(whole.includes(true)).toBe(false);
        expect(message.head.split("\r\n")[0]).toBe("HTTP/1.1 200 OK");
      }),
    );
  });
});
