/**
 * Starts, cold and warm.
 *
 *  1. the 90-second start in simulated time, exactly: as found, then as a warm-up, one arrangement after the other;
 *  2. a tenant that calls every 20 minutes, on a process that is kept;
 *  3. in real time, 200 tool schemas in fresh processes: compiled at the start by ajv and by zod, against a module that
 *     `manx precompile` has written. Each loads what it needs and checks one value with each of them.
 *
 *     npm run bench:cold-start [-- --rounds 9 --schemas 200]
 */
import { spawnSync } from "node:child_process";
import { mkdtempSync, rmSync, statSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { parseArgs } from "node:util";
import { formatUs } from "../src/core/index.ts";
import { validatorModule } from "../src/runtime/precompile/index.ts";
import {
  ARRANGEMENTS,
  runQuietTenant,
  runSerialStart,
  runWarmStart,
  TTFT_S,
} from "../src/scenario/index.ts";
import { toolSchemas } from "../test/support/tool-schemas.ts";

const { values } = parseArgs({
  options: {
    rounds: { type: "string", default: "9" },
    schemas: { type: "string", default: "200" },
  },
});

async function start(): Promise<void> {
  const serial = await runSerialStart();
  console.log("the 90-second start, simulated\n");
  console.log(`as found, in the first call: first token after ${formatUs(serial.firstTokenUs)}`);
  for (const { name, us } of serial.causes) console.log(`  ${name.padEnd(16)} ${formatUs(us)}`);
  console.log(`  ${"model".padEnd(16)} ${(serial.modelShare * 100).toFixed(2)} % of it`);
  console.log(`  ${"unattributed".padEnd(16)} ${formatUs(serial.unattributedUs)}\n`);
  console.log("as a warm-up                    ready     first call   of warm   critical path");
  for (const arrangement of ARRANGEMENTS) {
    const { name, readyUs, ttftUs, report } = await runWarmStart(arrangement);
    const path = `${report.criticalPath.join(" → ")}: ${formatUs(report.criticalPathUs)} of ${formatUs(report.sumUs)}`;
    const ratio = (ttftUs / (TTFT_S * 1e6)).toFixed(2);
    console.log(
      `  ${name.padEnd(29)} ${formatUs(readyUs).padEnd(9)} ${formatUs(ttftUs).padEnd(12)} ${ratio}×     ${path}`,
    );
    const savings = report.items.map((item) => `${item.name} ${formatUs(item.savingUs)}`);
    console.log(`    off the path each would save: ${savings.join(", ")}`);
  }
}

async function tenant(): Promise<void> {
  console.log("\na tenant that calls every 20 minutes for a day, simulated (72 calls)");
  for (const refreshed of [false, true]) {
    const { latency, refreshes } = await runQuietTenant(refreshed);
    const kind = refreshed ? "warm" : "cold";
    const { value, n } = latency.quantile(0.5, kind);
    const name = refreshed ? "pool and prompt cache refreshed" : "nothing refreshed";
    console.log(
      `  ${name.padEnd(33)} ${kind} p50 ${formatUs(value)} (n ${n}), ${refreshes} runs more than the first`,
    );
  }
}

const CHECK = "for (const [validate, value] of all) validate(value);";

function scripts(folder: string, count: number): Readonly<Record<string, string>> {
  const schemas = toolSchemas(count);
  const module = join(folder, "tools.validators.mjs");
  writeFileSync(module, validatorModule(schemas).text);
  const data = join(folder, "tools.json");
  writeFileSync(data, JSON.stringify(schemas));
  const size = (path: string): string => `${Math.round(statSync(path).size / 1024)} KiB`;
  console.log(`\n${count} tool schemas (${size(data)}), compiled ahead ${size(module)}`);
  const read = `import { readFileSync } from "node:fs"; const tools = JSON.parse(readFileSync(${JSON.stringify(data)}, "utf8"));`;
  const from = (name: string): string => JSON.stringify(import.meta.resolve(name));
  return {
    "ajv, compiled at the start": `${read} const { Ajv2020 } = await import(${from("ajv/dist/2020.js")});
      const ajv = new Ajv2020({ strict: false, allErrors: true });
      const all = tools.map(({ schema }) => [ajv.compile(schema), {}]); ${CHECK}`,
    "zod, compiled at the start": `${read} const { z } = await import(${from("zod")});
      const all = tools.map(({ schema }) => { const s = z.fromJSONSchema(schema); return [(value) => s.safeParse(value), {}]; }); ${CHECK}`,
    "compiled ahead, all used": `const { validators } = await import(${JSON.stringify(pathToFileURL(module).href)});
      const all = validators.map(({ make }) => [make(), {}]); ${CHECK}`,
    "compiled ahead, one used": `const { validators } = await import(${JSON.stringify(pathToFileURL(module).href)});
      validators[0].make()({});`,
  };
}

function childMs(script: string): number {
  const timed = `const began = process.hrtime.bigint();\n${script}\nconsole.log(Number(process.hrtime.bigint() - began) / 1e6);`;
  const { stdout, status, stderr } = spawnSync(
    process.execPath,
    ["--input-type=module", "-e", timed],
    { encoding: "utf8" },
  );
  if (status !== 0) throw new Error(stderr);
  return Number(stdout);
}

function compile(): void {
  const folder = mkdtempSync(join(tmpdir(), "manx-cold-start-"));
  try {
    const all = Object.entries(scripts(folder, Number(values.schemas)));
    const times = new Map<string, number[]>(all.map(([name]) => [name, []]));
    for (const [, script] of all) childMs(script); // fills the page cache
    // Interleaved: a slow second of the machine slows all of them.
    for (let round = 0; round < Number(values.rounds); round += 1) {
      for (const [name, script] of all) times.get(name)!.push(childMs(script));
    }
    const least = (name: string): number => Math.min(...times.get(name)!);
    console.log(`fresh processes, node ${process.version}, ${values.rounds} rounds; ms`);
    console.log("                                best   median");
    for (const [name, own] of times) {
      const median = own.toSorted((a, b) => a - b)[Math.floor(own.length / 2)]!;
      console.log(
        `  ${name.padEnd(28)} ${least(name).toFixed(1).padStart(6)}   ${median.toFixed(1).padStart(6)}`,
      );
    }
    for (const peer of ["ajv", "zod"]) {
      const peerMs = least(`${peer}, compiled at the start`);
      const ratio = (name: string): string => `${(peerMs / least(name)).toFixed(1)}×`;
      console.log(
        `  against ${peer}: the start is ${ratio("compiled ahead, one used")} faster (goal 10×), ` +
          `${ratio("compiled ahead, all used")} if every tool is called at once`,
      );
    }
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

await start();
await tenant();
compile();
