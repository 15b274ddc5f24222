/**
 * The least that a proxy in Node can be: `node:http` in front, undici behind, and nothing in between. It looks at nothing and
 * limits nothing; what it adds is what Node and this machine take, the floor under anything written for them.
 *
 *     node bench/peers/bare-proxy.mjs http://127.0.0.1:8000 4000
 */
import { createServer } from "node:http";
import { Pool } from "undici";

const [upstream, port] = process.argv.slice(2);
const pool = new Pool(upstream, { connections: 256, pipelining: 1, keepAliveTimeout: 120_000 });

createServer((request, response) => {
  const parts = [];
  request.on("data", (part) => parts.push(part));
  request.on("end", () => {
    const headers = { "content-type": "application/json" };
    const call = { method: request.method, path: request.url, headers, body: Buffer.concat(parts) };
    pool.dispatch(call, {
      onRequestStart: () => undefined,
      onResponseStart: (
        _controller,
        status,
        { "content-type": type, "content-length": length },
      ) => {
        const sized = length === undefined ? {} : { "content-length": length };
        response.writeHead(status, { "content-type": type, ...sized });
      },
      onResponseData: (_controller, part) => void response.write(part),
      onResponseEnd: () => void response.end(),
      onResponseError: () => void response.destroy(),
    });
  });
}).listen(Number(port), "127.0.0.1");
