/** How an HTTP/2 upstream can leave: goodbyes, resets, breaks. What was surely not begun is sent again; nothing cut looks whole. */
import { constants } from "node:http2";
import { describe, expect, it } from "vitest";
import type { FrameCall } from "../support/h2-frames.ts";
import { H2_EVENTS, type H2Call } from "../support/h2-upstream.ts";
import { answer, call } from "../support/http-call.ts";
import { metric, until } from "../support/live-gateway.ts";
import { CHAT_DONE, chatText } from "../support/replay-server.ts";
import { frameGateway, h2Gateway } from "../support/secure-gateway.ts";

const { NGHTTP2_CANCEL, NGHTTP2_INTERNAL_ERROR, NGHTTP2_NO_ERROR, NGHTTP2_REFUSED_STREAM } =
  constants;
const WHOLE = `${chatText("Hel")}${chatText("lo", "stop")}${CHAT_DONE}`;

/** Streams it in three writes. */
function stream({ stream }: H2Call): void {
  stream.respond(H2_EVENTS);
  stream.write(chatText("Hel"));
  setTimeout(() => {
    stream.write(chatText("lo", "stop"));
    stream.end(CHAT_DONE);
  }, 10);
}

/** Stored at the provider: not sent twice unless it was surely not begun. */
const ONCE = '{"stream":true,"store":true}';
const RESETS: [string, number][] = [
  ["NO_ERROR", NGHTTP2_NO_ERROR],
  ["CANCEL", NGHTTP2_CANCEL],
  ["INTERNAL_ERROR", NGHTTP2_INTERNAL_ERROR],
];

function writeHalf(call: FrameCall): void {
  call.head("text/event-stream");
  call.data(chatText("Hel"));
}

function writeWhole(call: FrameCall): void {
  writeHalf(call);
  call.data(`${chatText("lo", "stop")}${CHAT_DONE}`, { end: true });
}

function begin({ stream }: H2Call): void {
  stream.respond(H2_EVENTS);
  stream.write(chatText("Hel"));
}

describe("an upstream that says goodbye", () => {
  it("ends what it has begun, and gets the next request on another connection", async () => {
    const { chatUrl, upstream, gateway } = await h2Gateway((made) => {
      if (made.connection > 1) {
        stream(made);
        return;
      }
      begin(made);
      made.session.goaway(NGHTTP2_NO_ERROR);
      setTimeout(() => made.stream.end(`${chatText("lo", "stop")}${CHAT_DONE}`), 150);
    });
    const first = call(chatUrl);
    await until(() => first.text() !== "");
    const second = await answer(chatUrl);
    expect([second.status, second.text]).toEqual([200, WHOLE]);
    expect((await first.ended).clean).toBe(true);
    expect(first.text()).toBe(WHOLE);
    await until(() => upstream.sessions.size === 1);
    await until(() => gateway.connections().open === 1);
    expect(upstream.calls.map(({ connection }) => connection)).toEqual([1, 2]);
  });

  it.each([
    ["NO_ERROR", NGHTTP2_NO_ERROR],
    ["ENHANCE_YOUR_CALM", constants.NGHTTP2_ENHANCE_YOUR_CALM],
  ])(
    "with %s, gets what it has not begun again, even what must not be done twice",
    async (_name, code) => {
      const { chatUrl, upstream } = await frameGateway((made) => {
        if (made.connection === 1) made.goaway(0, code);
        else writeWhole(made);
      });
      const { status, text, headers } = await answer(chatUrl, { body: ONCE });
      expect([status, text, headers["x-manx-attempts"]]).toEqual([200, WHOLE, "2"]);
      expect(upstream.connections).toBe(2);
    },
  );

  it("with an error, does not get again what it may have begun", async () => {
    const { chatUrl, upstream } = await frameGateway((made) => {
      made.goaway(made.streamId, NGHTTP2_INTERNAL_ERROR);
      made.cut();
    });
    expect((await answer(chatUrl, { body: ONCE })).status).toBe(502);
    expect(upstream.calls).toHaveLength(1);
  });

  it("with an error in mid-answer, has it end with an error in band", async () => {
    const { chatUrl } = await frameGateway((made) => {
      writeHalf(made);
      setTimeout(() => made.goaway(made.streamId, NGHTTP2_INTERNAL_ERROR), 20);
    });
    const { text } = await answer(chatUrl);
    expect(text).toContain("MANX_STREAM_INCOMPLETE");
    expect(text).not.toContain("[DONE]");
  });
});

describe("a stream that the upstream resets", () => {
  it("as refused, is sent again, even if it must not be done twice", async () => {
    const { chatUrl, upstream, gateway } = await frameGateway((made) => {
      if (made.number === 1) made.reset(NGHTTP2_REFUSED_STREAM);
      else writeWhole(made);
    });
    const { status, text } = await answer(chatUrl, { body: ONCE });
    expect([status, text]).toEqual([200, WHOLE]);
    expect(upstream.calls).toHaveLength(2);
    expect(await metric(gateway, 'manx_gateway_retries_total{reason="reuse_race"}')).toBe(1);
  });

  it.each(RESETS)("with %s in mid-answer, ends with an error in band", async (_name, code) => {
    const { chatUrl, upstream } = await frameGateway((made) => {
      writeHalf(made);
      setTimeout(() => made.reset(code), 20);
    });
    const { text } = await answer(chatUrl);
    expect(text).toContain("Hel");
    expect(text).toContain("MANX_STREAM_INCOMPLETE");
    expect([upstream.calls.length, upstream.connections]).toEqual([1, 1]);
  });

  it.each(RESETS)(
    "with %s is no whole answer, even where nothing else tells",
    async (_name, code) => {
      const { chatUrl } = await frameGateway((made) => {
        made.head("text/plain");
        made.data("half of an answ");
        setTimeout(() => made.reset(code), 20);
      });
      const made = call(chatUrl, { body: ONCE });
      const response = await made.head;
      const { clean } = await made.ended;
      expect(response.statusCode === 200 && clean).toBe(false);
    },
  );

  it("before its head, is sent again only if it may be done twice", async () => {
    const { chatUrl, upstream } = await frameGateway((made) => {
      if (made.number <= 2) made.reset(NGHTTP2_INTERNAL_ERROR);
      else writeWhole(made);
    });
    const once = await answer(chatUrl, { body: ONCE });
    expect([once.status, JSON.parse(once.text).error.code]).toEqual([502, "MANX_UPSTREAM_DOWN"]);
    expect(upstream.calls).toHaveLength(1);
    expect((await answer(chatUrl)).status).toBe(200);
    expect(upstream.calls).toHaveLength(3);
  });

  it("since it wants HTTP/1.1, is sent again without HTTP/2", async () => {
    const { chatUrl, upstream } = await h2Gateway(
      ({ stream }) => stream.close(constants.NGHTTP2_HTTP_1_1_REQUIRED),
      { server: { allowHTTP1: true } },
    );
    upstream.answerH1('{"ok":true}');
    const { status, text } = await answer(chatUrl, { body: ONCE });
    expect([status, text]).toEqual([200, '{"ok":true}']);
  });
});

describe("a connection that breaks", () => {
  it("as a request goes out on it, costs a second attempt on a new one", async () => {
    const { chatUrl, upstream } = await frameGateway((made) => {
      if (made.connection === 1) made.cut();
      else writeWhole(made);
    });
    const { status, text, headers } = await answer(chatUrl, { body: ONCE });
    expect([status, text, headers["x-manx-attempts"]]).toEqual([200, WHOLE, "2"]);
    expect(upstream.connections).toBe(2);
  });

  it("after it has answered others, is no race with its idle limit: the request may have been begun", async () => {
    const { chatUrl, upstream } = await frameGateway((made) => {
      if (made.number === 1) writeHalf(made);
      if (made.number === 2) {
        // Something comes after the second request, so the connection was alive to take it.
        upstream.calls[0]!.data(chatText("more"));
        setTimeout(() => made.cut(), 50);
      }
    });
    const first = call(chatUrl);
    await until(() => first.text() !== "");
    const second = await answer(chatUrl, { body: ONCE });
    expect(second.status).toBe(502);
    await first.ended;
    expect(first.text()).toContain("MANX_STREAM_INCOMPLETE");
    expect(upstream.calls).toHaveLength(2);
  });

  it("under 8 answers, breaks each with an error, and the next request has a new one", async () => {
    let cuts = true;
    const { chatUrl, upstream, gateway } = await frameGateway((made) => {
      if (!cuts) writeWhole(made);
      else {
        writeHalf(made);
        if (made.number === 8) setTimeout(() => made.cut(), 50);
      }
    });
    const broken = await Promise.all(Array.from({ length: 8 }, () => answer(chatUrl)));
    for (const { text } of broken) expect(text).toContain("MANX_STREAM_INCOMPLETE");
    cuts = false;
    expect((await answer(chatUrl)).text).toBe(WHOLE);
    await until(() => gateway.connections().open === 1);
    expect(upstream.connections).toBe(2);
  });

  it("while nobody uses it, is opened again", async () => {
    const { upstream, gateway } = await h2Gateway(stream);
    await until(() => upstream.sessions.size === 1);
    for (const session of upstream.sessions) session.close();
    await until(() => gateway.connections().opened === 2 && gateway.connections().idle === 1);
    expect(upstream.connections).toBe(2);
  });
});
