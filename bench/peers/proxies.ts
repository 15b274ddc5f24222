/**
 * Other proxies, one process or thread each, as they would be set up for streams: kept connections, no buffering, no log.
 * Each is used if its program is on the PATH (Debian has nginx, haproxy and caddy); Portkey if
 * `npx tsx bench/peers/install-portkey.ts` has been run.
 */
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { accessSync, constants, mkdtempSync, writeFileSync } from "node:fs";
import { connect, createServer } from "node:net";
import { tmpdir } from "node:os";
import { delimiter, join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import type { Process } from "../gateway/processes.ts";
import { PORTKEY_FOLDER } from "./install-portkey.ts";

const BARE_PROXY = new URL("./bare-proxy.mjs", import.meta.url).pathname;

export interface Peer extends Process {
  readonly name: string;
  /** What each request must carry for it. */
  readonly headers: Readonly<Record<string, string>>;
}

interface Recipe {
  readonly program: string;
  /** @returns arguments and environment for an upstream and a port. @param folder of its own. */
  readonly start: (
    upstream: URL,
    port: number,
    folder: string,
  ) => { args: string[]; env?: Record<string, string>; headers?: Record<string, string> };
}

const RECIPES: Readonly<Record<string, Recipe>> = {
  nginx: {
    program: "nginx",
    start: (upstream, port, folder) => {
      const file = join(folder, "nginx.conf");
      writeFileSync(
        file,
        `worker_processes 1; daemon off; error_log /dev/null; pid ${folder}/pid;
events { worker_connections 4096; }
http {
  access_log off; keepalive_timeout 300s; keepalive_requests 1000000; client_max_body_size 32m;
  client_body_temp_path ${folder}/body; proxy_temp_path ${folder}/proxy; fastcgi_temp_path ${folder}/f;
  uwsgi_temp_path ${folder}/u; scgi_temp_path ${folder}/s;
  upstream mock { server ${upstream.host}; keepalive 512; keepalive_timeout 300s; keepalive_requests 1000000; }
  server {
    listen 127.0.0.1:${port};
    location / { proxy_pass http://mock; proxy_http_version 1.1; proxy_set_header Connection "";
      proxy_buffering off; proxy_read_timeout 600s; }
  }
}`,
      );
      return { args: ["-p", folder, "-c", file] };
    },
  },
  haproxy: {
    program: "haproxy",
    start: (upstream, port, folder) => {
      const file = join(folder, "haproxy.cfg");
      writeFileSync(
        file,
        `global
  nbthread 1
  maxconn 8000
defaults
  mode http
  http-reuse always
  option http-no-delay
  timeout connect 10s
  timeout client 600s
  timeout server 600s
  timeout http-keep-alive 300s
listen mock
  bind 127.0.0.1:${port}
  server m ${upstream.host} pool-max-conn 512 pool-purge-delay 300s
`,
      );
      return { args: ["-f", file] };
    },
  },
  caddy: {
    program: "caddy",
    start: (upstream, port, folder) => {
      const file = join(folder, "Caddyfile");
      writeFileSync(
        file,
        `{
  admin off
  auto_https off
}
http://127.0.0.1:${port} {
  reverse_proxy ${upstream.host} {
    flush_interval -1
    transport http {
      keepalive 300s
      keepalive_idle_conns_per_host 512
    }
  }
}
`,
      );
      const args = ["run", "--config", file, "--adapter", "caddyfile"];
      return { args, env: { GOMAXPROCS: "1", HOME: folder } };
    },
  },
  /** No product: the floor under anything in Node. */
  node: {
    program: process.execPath,
    start: (upstream, port) => ({ args: [BARE_PROXY, upstream.origin, String(port)] }),
  },
  portkey: {
    program: process.execPath,
    start: (upstream, port) => ({
      args: [
        `${PORTKEY_FOLDER}/node_modules/@portkey-ai/gateway/build/start-server.js`,
        `--port=${port}`,
        "--headless",
      ],
      headers: {
        "x-portkey-provider": "openai",
        "x-portkey-custom-host": `${upstream.origin}/v1`,
      },
    }),
  },
};

export const PEER_NAMES = Object.keys(RECIPES);

/** @returns the peer, ready; undefined if it is not installed here. */
export async function startPeer(name: string, upstream: string): Promise<Peer | undefined> {
  const recipe = RECIPES[name];
  if (recipe === undefined)
    throw new Error(`no such peer: ${name}; known: ${PEER_NAMES.join(", ")}`);
  const port = await freePort();
  const folder = mkdtempSync(join(tmpdir(), `manx-peer-${name}-`));
  const { args, env = {}, headers = {} } = recipe.start(new URL(upstream), port, folder);
  const isThere =
    recipe.program === process.execPath ? isReadable(args[0]!) : onPath(recipe.program);
  if (!isThere) return undefined;
  const child = spawn(recipe.program, args, {
    stdio: "ignore",
    env: { ...process.env, ...env },
  });
  process.once("exit", () => child.kill());
  await listening(port, child, name);
  return {
    name,
    url: `http://127.0.0.1:${port}`,
    pid: child.pid ?? 0,
    headers,
    stop: async () => {
      const exited = once(child, "exit");
      child.kill("SIGKILL");
      await exited;
    },
  };
}

async function listening(port: number, child: ChildProcess, name: string): Promise<void> {
  for (let tries = 0; tries < 200; tries += 1) {
    if (child.exitCode !== null) throw new Error(`${name} ended with ${child.exitCode}`);
    const socket = connect(port, "127.0.0.1");
    const isOpen = await Promise.race([
      once(socket, "connect").then(() => true),
      once(socket, "error").then(() => false),
    ]).catch(() => false);
    socket.destroy();
    if (isOpen) return;
    await sleep(50);
  }
  throw new Error(`${name} does not listen`);
}

async function freePort(): Promise<number> {
  const server = createServer().listen(0, "127.0.0.1");
  await once(server, "listening");
  const { port } = server.address() as { port: number };
  server.close();
  await once(server, "close");
  return port;
}

function onPath(program: string): boolean {
  const folders = [...(process.env.PATH ?? "").split(delimiter), "/usr/sbin"];
  return folders.some((folder) => isReadable(join(folder, program)));
}

function isReadable(path: string): boolean {
  try {
    accessSync(path, constants.R_OK);
    return true;
  } catch {
    return false;
  }
}
