import { describe, expect, it } from "vitest";
import { requestHeaders, responseHead } from "./headers.ts";

const PASSING = { via: "me", credentials: null, inTheClear: false };

describe("request headers", () => {
  it("stop hop by hop, with what Connection names, in any case", () => {
    const raw = [
      ...["Host", "gateway.example"],
      ...["Connection", "close, X-Secret-Hop"],
      ...["x-secret-hop", "1"],
      ...["Keep-Alive", "timeout=5"],
      ...["TE", "trailers"],
      ...["Trailer", "x"],
      ...["Transfer-Encoding", "chunked"],
      ...["Upgrade", "h2c"],
      ...["Proxy-Authorization", "Basic x"],
      ...["Expect", "100-continue"],
      ...["Content-Length", "2"],
      ...["Authorization", "Bearer k"],
      ...["X-Twice", "1"],
      ...["X-Twice", "2"],
      ...["Accept-Encoding", "gzip, br"],
    ];
    expect(requestHeaders(raw, PASSING)).toEqual([
      ...["Authorization", "Bearer k"],
      ...["X-Twice", "1"],
      ...["X-Twice", "2"],
      ...["Accept-Encoding", "gzip, br"],
      ...["via", "1.1 me"],
    ]);
  });

  it("cannot be made to drop what a client wants kept by naming it oddly, only by naming it", () => {
    expect(requestHeaders(["Connection", " , close,,", "A", "1"], PASSING)).toEqual([
      ...["A", "1"],
      ...["via", "1.1 me"],
    ]);
  });
});

describe("request headers for an upstream with a key of the gateway's", () => {
  it("carry that key and nothing of the caller's own", () => {
    const raw = [
      ...["Authorization", "Bearer caller"],
      ...["X-API-Key", "caller"],
      ...["api-key", "caller"],
      ...["Cookie", "session=caller"],
      ...["X-Goog-Api-Key", "caller"],
      ...["Ocp-Apim-Subscription-Key", "caller"],
      ...["OpenAI-Organization", "org-caller"],
      ...["X-Manx-Deadline-Ms", "900"],
      ...["Accept-Encoding", "gzip"],
      ...["A", "1"],
    ];
    const credentials = ["authorization", "Bearer ours"];
    const headers = requestHeaders(raw, { via: "me", credentials, inTheClear: true });
    expect(headers).toEqual([
      ...["A", "1"],
      ...["accept-encoding", "identity"],
      ...["authorization", "Bearer ours"],
      ...["via", "1.1 me"],
    ]);
  });
});

describe("response head", () => {
  it("of an event stream tells proxies to leave it alone, keeping the upstream's own directives", () => {
    const { headers, isEventStream } = responseHead([
      ...["Content-Type", "text/event-stream; charset=utf-8"],
      ...["Cache-Control", "no-store"],
      ...["Content-Length", "100"],
      ...["Connection", "close"],
      ...["Set-Cookie", "a=1"],
      ...["Set-Cookie", "b=2"],
    ]);
    expect(isEventStream).toBe(true);
    expect(headers).toEqual([
      ...["Content-Type", "text/event-stream; charset=utf-8"],
      ...["Set-Cookie", "a=1"],
      ...["Set-Cookie", "b=2"],
      ...["cache-control", "no-store, no-transform"],
      ...["x-accel-buffering", "no"],
    ]);
  });

  it("of JSON keeps its length and its encoding", () => {
    const raw = [
      "content-type",
      "application/json",
      "content-length",
      "9",
      "content-encoding",
      "br",
    ];
    const head = responseHead(raw);
    expect(head).toEqual({
      headers: raw,
      isEventStream: false,
      isJson: true,
      isUnsized: false,
      isEncoded: true,
    });
  });

  it("knows a body that nothing but the end of the connection ends", () => {
    const isUnsized = (...raw: string[]): boolean => responseHead(raw).isUnsized;
    expect(isUnsized("Content-Type", "application/json")).toBe(true);
    expect(isUnsized("Content-Length", "2")).toBe(false);
    expect(isUnsized("Transfer-Encoding", "chunked")).toBe(false);
  });
});
