/**
 * The fault matrix in short: each fault in each of its phases, alone and with a spare target, over real sockets and with the
 * official clients. All cells, on every way between the formats: `npm run bench:faults`.
 */
import { describe, expect, it } from "vitest";
import { type CellResult, type FaultCell, titleOf } from "../../support/fault-cell.ts";
import { allCells, playCells, responsesCells, shortCells } from "../../support/fault-matrix.ts";
import { sleep } from "../../support/replay-server.ts";

/** Sockets, servers and timers of this process. */
function resources(): number {
  const held = /^(?:TCP|TLS|Timeout|Immediate|GetAddrInfo)/;
  return process.getActiveResourcesInfo().filter((name) => held.test(name)).length;
}

const isQuiet = (result: CellResult): boolean =>
  result.seen === result.expected && result.left.length === 0;

const LATE_BREAKS = [
  "cut by FIN",
  "cut by RST",
  "silence",
  "pings alone",
  "a line that drips without end",
];

describe("the fault matrix", () => {
  it("ends every cell as it must: recovered, or told in the caller's own format", async () => {
    const cells = shortCells();
    expect(cells.length).toBeGreaterThanOrEqual(40);
    const before = resources();
    const results = await playCells(cells, 6);
    const wrong = results.filter((result) => !isQuiet(result));
    expect(wrong.map(({ cell, ...rest }) => ({ cell: titleOf(cell), ...rest }))).toEqual([]);
    expect(results.filter(({ seen }) => seen.startsWith("TRUNCATED"))).toEqual([]);
    // What a client of the runtime keeps open for its next request goes with its server.
    for (let tries = 0; tries < 1_000 && resources() > before; tries += 1) await sleep(5);
    expect(resources()).toBeLessThanOrEqual(before);
  }, 60_000);

  it("tells of every break of a responses stream, numbered and as its official client throws it", async () => {
    const cells = responsesCells();
    const kinds = new Set(cells.map(({ phase, api, fault }) => `${fault.name} ${phase} ${api}`));
    for (const fault of LATE_BREAKS)
      for (const phase of ["after", "tool"])
        for (const api of ["responses", "anthropic"])
          expect(kinds).toContain(`${fault} ${phase} ${api}`);
    const results = await playCells(cells, 6);
    const wrong = results.filter((result) => !isQuiet(result));
    expect(wrong.map(({ cell, ...rest }) => ({ cell: titleOf(cell), ...rest }))).toEqual([]);
  }, 60_000);

  it("has all of its faults in its short form, and its cells in the long one", () => {
    const all = allCells();
    const short = shortCells();
    expect(new Set(short.map(({ fault }) => fault))).toEqual(
      new Set(all.map(({ fault }) => fault)),
    );
    expect(all).toEqual(expect.arrayContaining([short[0]]));
    for (const key of ["caller", "api", "isStream", "hasSpare", "phase"] as const) {
      const seen = (cells: FaultCell[]) => new Set(cells.map((cell) => cell[key]));
      expect(seen(short), key).toEqual(seen(all));
    }
  });
});
