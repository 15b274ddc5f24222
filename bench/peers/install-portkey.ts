/**
 * Installs Portkey's gateway beside the project's own packages, for `npm run bench:gateway`. A plain install of it is
 * broken (the newer hono that npm picks makes each call a 500), so the versions of its own lock file are pinned.
 *
 *     npx tsx bench/peers/install-portkey.ts
 */
import { execFileSync } from "node:child_process";
import { mkdirSync, writeFileSync } from "node:fs";
import { fileURLToPath } from "node:url";

const root = new URL("../../", import.meta.url).pathname;
export const PORTKEY_FOLDER = `${root}node_modules/.cache/manx-peers/portkey`;

function install(): void {
  const pinned = { "@hono/node-server": "1.13.5", hono: "4.9.7" };
  mkdirSync(PORTKEY_FOLDER, { recursive: true });
  writeFileSync(
    `${PORTKEY_FOLDER}/package.json`,
    JSON.stringify({
      private: true,
      dependencies: { "@portkey-ai/gateway": "1.15.2", ...pinned },
      overrides: pinned,
    }),
  );
  execFileSync("npm", ["install", "--ignore-scripts", "--no-audit", "--no-fund"], {
    cwd: PORTKEY_FOLDER,
    stdio: "inherit",
  });
}

if (process.argv[1] === fileURLToPath(import.meta.url)) install();
