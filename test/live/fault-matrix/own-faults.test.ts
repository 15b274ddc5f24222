/** The cells of the fault matrix in which the caller or this gateway itself is at fault. */
import { describe, expect, it } from "vitest";
import { OWN_CELLS } from "../../support/fault-own-cells.ts";
import { playOwnCell } from "../../support/fault-own-world.ts";

describe("the fault matrix, on this side", () => {
  it.concurrent.each(OWN_CELLS)("$name", async (cell) => {
    const { seen, left } = await playOwnCell(cell);
    expect([seen, left]).toEqual([cell.expected, []]);
  });
});
