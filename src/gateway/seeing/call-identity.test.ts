import { describe, expect, it } from "vitest";
import { addRequestId, CallIdentities, markAttempt, upstreamRequestId } from "./call-identity.ts";
import { isInShare, readTraceparent, traceparent } from "./trace-context.ts";

const TRACE = "0af7651916cd43dd8448eb211c80319c";
const SPAN = "b7ad6b7169203331";
const ids = new CallIdentities();

describe("a request's id", () => {
  it.each(["abc-123", "req_0.1:2@x/y=z+", "a".repeat(128)])("%s is the caller's own", (id) => {
    expect(ids.of({ "x-request-id": id }, null).requestId).toBe(id);
  });

  it.each(["", "a b", 'x"y', "line\nbreak", "a".repeat(129), "ключ"])(
    "%j is not fit for a log, so it gets ours",
    (id) => {
      expect(ids.of({ "x-request-id": id }, null).requestId).toMatch(/^req_[0-9a-f]{24}$/);
    },
  );

  it("is another one for each, in each process", () => {
    const made = [ids, new CallIdentities()].flatMap((one) =>
      Array.from({ length: 5_000 }, () => one.of({}, 1)),
    );
    expect(new Set(made.map(({ requestId }) => requestId)).size).toBe(10_000);
    expect(new Set(made.map(({ trace }) => trace!.traceId)).size).toBe(10_000);
    expect(new Set(made.map(({ trace }) => trace!.spanId)).size).toBe(10_000);
  });

  it("goes to the client; the upstream's own is kept under another name", () => {
    const theirs = ["X-Request-Id", "req_up", "content-type", "text/plain"];
    const answered = [...theirs];
    addRequestId(answered, "mine");
    expect(answered).toEqual([
      "x-manx-upstream-request-id",
      "req_up",
      "content-type",
      "text/plain",
      "x-request-id",
      "mine",
    ]);
    expect(upstreamRequestId(theirs)).toBe("req_up");
    expect(upstreamRequestId(["request-id", "req_anthropic"])).toBe("req_anthropic");
    expect(upstreamRequestId(["x-request-id", "two words"])).toBeUndefined();
  });

  it("is not used a second time upstream", () => {
    const headers = ["x-request-id", "mine"];
    const identity = ids.of({ "x-request-id": "mine" }, null);
    markAttempt(headers, identity, 0);
    expect(headers).toEqual(["x-request-id", "mine"]);
    markAttempt(headers, identity, 1);
    expect(headers).toEqual(["x-request-id", "mine-2"]);
  });
});

describe("a trace", () => {
  it.each([
    ["", undefined],
    [`00-${TRACE}-${SPAN}-01`, true],
    [`00-${TRACE}-${SPAN}-00`, false],
    [`00-${TRACE}-${SPAN}-03`, true],
    [`cc-${TRACE}-${SPAN}-01-more`, true],
    [`00-${TRACE}-${SPAN}-01-more`, undefined],
    [`ff-${TRACE}-${SPAN}-01`, undefined],
    [`00-${TRACE.toUpperCase()}-${SPAN}-01`, undefined],
    [`00-${"0".repeat(32)}-${SPAN}-01`, undefined],
    [`00-${TRACE}-${"0".repeat(16)}-01`, undefined],
    [`00-${TRACE}-${SPAN}-0`, undefined],
  ])("is read off %j as its specification says", (header, isSampled) => {
    expect(readTraceparent(header)?.isSampled).toBe(isSampled);
  });

  it("goes on through the gateway, each attempt with a span of its own", () => {
    const header = traceparent(TRACE, SPAN, true);
    const identity = ids.of({ traceparent: header }, 0);
    const sent = [0, 1].map((attempt) => {
      const headers = ["traceparent", header, "tracestate", "a=b"];
      markAttempt(headers, identity, attempt);
      return readTraceparent(headers[1])!;
    });
    expect(identity.trace).toMatchObject({ traceId: TRACE, parentId: SPAN, isSampled: true });
    expect(sent.map(({ traceId }) => traceId)).toEqual([TRACE, TRACE]);
    expect(new Set([SPAN, identity.trace!.spanId, ...sent.map((one) => one.parentId)]).size).toBe(
      4,
    );
  });

  it("passes untouched where this gateway records none", () => {
    const header = traceparent(TRACE, SPAN, true);
    const headers = ["traceparent", header];
    const identity = ids.of({ traceparent: header }, null);
    markAttempt(headers, identity, 0);
    expect(headers).toEqual(["traceparent", header]);
    expect(identity.trace).toMatchObject({ traceId: TRACE, spanId: undefined });
    expect(ids.of({}, null).trace).toBeUndefined();
  });

  it("is kept in the share that is asked for, the same one everywhere", () => {
    const traces = Array.from({ length: 4_000 }, () => ids.of({}, 0.25).trace!);
    const kept = traces.filter(({ isSampled }) => isSampled).length;
    // Five standard deviations.
    expect(Math.abs(kept - 1_000)).toBeLessThan(140);
    for (const { traceId, isSampled } of traces) expect(isInShare(traceId, 0.25)).toBe(isSampled);
    expect(traces.every(({ traceId }) => isInShare(traceId, 1))).toBe(true);
    expect(traces.some(({ traceId }) => isInShare(traceId, 0))).toBe(false);
  });
});
