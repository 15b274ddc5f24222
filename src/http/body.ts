/** Reads a request's body whole, but never more than a limit. */
import type { IncomingMessage } from "node:http";
import { ManxError } from "../core/index.ts";

const BODY_LIMIT_BYTES = 32 * 1024 * 1024;

/**
 * @returns the bytes as they came.
 * @throws MANX_BODY_TOO_LARGE as soon as the declared or the received size passes `limitBytes`; the rest is not read.
 * @throws MANX_REQUEST_INVALID if the client leaves before the end.
 */
export function readBody(request: IncomingMessage, limitBytes = BODY_LIMIT_BYTES): Promise<Buffer> {
  const tooLarge = (got: number): ManxError =>
    new ManxError("MANX_BODY_TOO_LARGE", {
      expected: `at most ${limitBytes} bytes`,
      got: `${got} bytes`,
    });
  return new Promise((resolve, reject) => {
    const declared = Number(request.headers["content-length"] ?? 0);
    if (declared > limitBytes) {
      reject(tooLarge(declared));
      return;
    }
    const parts: Buffer[] = [];
    let size = 0;
    const settle = (act: () => void): void => {
      request.off("data", onData);
      request.off("end", onEnd);
      request.off("error", onCut);
      request.off("close", onCut);
      act();
    };
    const onData = (part: Buffer): void => {
      size += part.length;
      if (size > limitBytes) {
        request.pause();
        settle(() => reject(tooLarge(size)));
        return;
      }
      parts.push(part);
    };
    const onEnd = (): void => {
      settle(() => resolve(parts.length === 1 ? parts[0]! : Buffer.concat(parts, size)));
    };
    const onCut = (): void => {
      settle(() => reject(new ManxError("MANX_REQUEST_INVALID", { what: "the body was cut off" })));
    };
    request.on("data", onData);
    request.on("end", onEnd);
    request.on("error", onCut);
    request.on("close", onCut);
  });
}

/** @throws MANX_REQUEST_INVALID with the position that JSON.parse names, if the body is no JSON object. */
export function parseJsonObject(body: Buffer): Record<string, unknown> {
  let value: unknown;
  try {
    value = JSON.parse(body.toString("utf8"));
  } catch (cause) {
    throw new ManxError("MANX_REQUEST_INVALID", {
      what: "the body is not JSON",
      where: "request body",
      got: cause instanceof Error ? cause.message : String(cause),
    });
  }
  if (typeof value !== "object" || value === null || Array.isArray(value)) {
    throw new ManxError("MANX_REQUEST_INVALID", {
      where: "request body",
      expected: "a JSON object",
    });
  }
  return value as Record<string, unknown>;
}
