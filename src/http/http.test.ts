import { createServer, type Server } from "node:http";
import { connect } from "node:net";
import { afterEach, describe, expect, it } from "vitest";
import { ManxError, toManxError } from "../core/index.ts";
import { close, listen, parseJsonObject, readBody, sendError, sendJson } from "./index.ts";

const servers: Server[] = [];
afterEach(async () => {
  await Promise.all(servers.splice(0).map((server) => close(server, { cutOpen: true })));
});

async function echo(limitBytes: number): Promise<string> {
  const server = createServer((request, response) => {
    readBody(request, limitBytes)
      .then((body) => sendJson(response, 200, parseJsonObject(body)))
      .catch((thrown: unknown) => sendError(response, toManxError(thrown), "openai"));
  });
  servers.push(server);
  return listen(server, { port: 0 });
}

describe("listen", () => {
  it("opens on loopback and names a port that is in use", async () => {
    const url = await echo(10);
    expect(url).toMatch(/^http:\/\/127\.0\.0\.1:\d+$/);
    const port = Number(new URL(url).port);
    await expect(listen(createServer(), { port })).rejects.toMatchObject({
      code: "MANX_PORT_IN_USE",
      where: `127.0.0.1:${port}`,
    });
  });

  it("says so if this machine has no such address", async () => {
    // Reserved for documentation (RFC 5737): no machine has it, and binding to it sends nothing.
    await expect(listen(createServer(), { host: "192.0.2.1", port: 0 })).rejects.toMatchObject({
      code: "MANX_ADDRESS",
      where: "192.0.2.1:0",
      got: "EADDRNOTAVAIL",
    });
  });
});

describe("bodies", () => {
  it("are read whole, refused over the limit whether declared or not, and refused if no JSON object", async () => {
    const url = await echo(20);
    const post = async (body: BodyInit): Promise<[number, unknown]> => {
      const response = await fetch(url, { method: "POST", body, duplex: "half" } as RequestInit);
      return [response.status, await response.json()];
    };
    expect(await post('{"a":1}')).toEqual([200, { a: 1 }]);
    const large = '{"a":"0123456789012345"}';
    const undeclared = new Blob([large]).stream();
    for (const body of [large, undeclared]) {
      expect(await post(body)).toMatchObject([413, { error: { code: "MANX_BODY_TOO_LARGE" } }]);
    }
    for (const body of ["[1]", '{"a":', "null"]) {
      expect(await post(body)).toMatchObject([400, { error: { code: "MANX_REQUEST_INVALID" } }]);
    }
  });

  it("that are cut off end in an error, and the server goes on", async () => {
    const url = await echo(100);
    const socket = connect(Number(new URL(url).port), "127.0.0.1");
    socket.write("POST / HTTP/1.1\r\nhost: x\r\ncontent-length: 50\r\n\r\n{");
    await new Promise((resolve) => socket.once("connect", resolve));
    socket.destroy();
    expect((await fetch(url, { method: "POST", body: "{}" })).status).toBe(200);
  });
});

describe("errors", () => {
  it("come in the caller's own form", async () => {
    const server = createServer((request, response) => {
      const dialect = request.url === "/v1/messages" ? "anthropic" : "openai";
      sendError(response, new ManxError("MANX_OVERLOADED"), dialect, { "retry-after": "2" });
    });
    servers.push(server);
    const url = await listen(server, { port: 0 });
    const openai = await fetch(`${url}/v1/chat/completions`);
    expect([openai.status, openai.headers.get("retry-after")]).toEqual([429, "2"]);
    expect(await openai.json()).toMatchObject({ error: { type: "rate_limit_error", param: null } });
    expect(await (await fetch(`${url}/v1/messages`)).json()).toMatchObject({
      type: "error",
      error: { type: "rate_limit_error" },
    });
  });
});
