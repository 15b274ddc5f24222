/**
 * An answer without a stream is held until it is whole, but only up to a bound; beyond it, it goes on before its end is
 * known. What is cut after that must never look whole to the caller, nor on the record.
 */
import { describe, expect, it } from "vitest";
import { answer } from "../support/http-call.ts";
import { liveGateway, requests, until } from "../support/live-gateway.ts";
import { chunk, head, LAST_CHUNK, type Step } from "../support/replay-server.ts";

/** Above what is held. */
const BYTES = 600 * 1024;
const WHOLE = JSON.stringify({ object: "list", data: "x".repeat(BYTES) });
const TYPES = ["application/json", "application/octet-stream"] as const;

type Framing = "length" | "chunked" | "close";

/** @param body what comes of it; @param of all that was promised. */
function begin(framing: Framing, type: string, body: string, of = WHOLE.length): Step[] {
  const headers: Record<string, string> = { "content-type": type };
  if (framing === "length") headers["content-length"] = String(of);
  if (framing === "chunked") headers["transfer-encoding"] = "chunked";
  if (framing === "close") headers.connection = "close";
  const parts = [body.slice(0, 300 * 1024), body.slice(300 * 1024)].filter((one) => one !== "");
  const framed = parts.map((part) => (framing === "chunked" ? chunk(part) : part));
  return [{ bytes: head(200, headers) }, ...framed.map((bytes) => ({ bytes, afterMs: 30 }))];
}

async function told(steps: readonly Step[]) {
  const { chatUrl, gateway } = await liveGateway(() => steps);
  const { status, clean, text } = await answer(chatUrl, { body: '{"model":"m"}' });
  await until(() => gateway.inFlight() === 0);
  const count = async (outcome: string) => await requests(gateway, { status: 200, outcome });
  return { status, clean, text, ok: await count("ok"), cut: await count("stream_incomplete") };
}

describe("a large answer without a stream", () => {
  it.each(["length", "chunked", "close"] as const)(
    "passes whole, framed by %s",
    async (framing) => {
      const last: Step = framing === "chunked" ? { bytes: LAST_CHUNK } : { end: "fin" };
      const seen = await told([...begin(framing, TYPES[0], WHOLE), last]);
      expect({ ...seen, text: seen.text === WHOLE }).toEqual({
        status: 200,
        clean: true,
        text: true,
        ok: 1,
        cut: 0,
      });
    },
  );

  const cuts = (["length", "chunked"] as const).flatMap((framing) =>
    TYPES.flatMap((type) =>
      (["fin", "rst"] as const).flatMap((end) =>
        ([350 * 1024, WHOLE.length - 1] as const).map((at) => ({ framing, type, end, at })),
      ),
    ),
  );

  it.each(cuts)("is broken off when cut: $framing, $type, $end after $at bytes", async (cut) => {
    const { framing, type, end, at } = cut;
    const seen = await told([...begin(framing, type, WHOLE.slice(0, at)), { afterMs: 30, end }]);
    expect({ ...seen, text: seen.text.length < WHOLE.length }).toEqual({
      status: 200,
      clean: false,
      text: true,
      ok: 0,
      cut: 1,
    });
  });

  it("is broken off when cut, though neither a length nor chunks would tell", async () => {
    const half = begin("close", TYPES[0], WHOLE.slice(0, 400 * 1024));
    const seen = await told([...half, { afterMs: 30, end: "fin" }]);
    expect(seen).toMatchObject({ clean: false, ok: 0, cut: 1 });
  });

  it.each(["fin", "rst"] as const)("is broken off by %s before its last chunk", async (end) => {
    const seen = await told([...begin("chunked", TYPES[0], WHOLE), { afterMs: 30, end }]);
    expect(seen).toMatchObject({ clean: false, ok: 0, cut: 1 });
  });

  it.each(["length", "chunked"] as const)(
    "is broken off if its JSON stops, framed well by %s",
    async (framing) => {
      const part = WHOLE.slice(0, 400 * 1024);
      const last = framing === "chunked" ? [{ bytes: LAST_CHUNK }] : [];
      const seen = await told([...begin(framing, TYPES[0], part, part.length), ...last]);
      expect(seen).toMatchObject({ clean: false, ok: 0, cut: 1 });
    },
  );
});
