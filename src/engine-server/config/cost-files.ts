/** A cost model as the section names it, by files, to one that carries what is in them. */
import { createReadStream } from "node:fs";
import { resolve } from "node:path";
import { createGunzip } from "node:zlib";
import type { SectionConfig } from "../../config/index.ts";
import { ManxError, parseDurationUs } from "../../core/index.ts";
import { type CostChoice, parseFittedCost, type TableText } from "../../engine/index.ts";
import type { EngineSection } from "./engine-schema.ts";

/** The largest published table has 2 MB unpacked. */
const BYTES_MAX = 32 * 2 ** 20;

type Written<Kind extends CostChoice["kind"]> = Extract<EngineSection["cost"], { kind: Kind }>;

/** @throws MANX_FILE_UNREADABLE, MANX_TABLE_FORMAT */
export async function readCost(
  section: SectionConfig<EngineSection>,
  workFolder: string,
): Promise<CostChoice> {
  const { cost } = section.value;
  // A path in the file begins at the file, one on the command line where that was typed.
  const isInFile = section.sourceOf(["cost"]).kind === "file";
  const table = (path: string) => readTable(resolve(isInFile ? section.folder : workFolder, path));
  switch (cost.kind) {
    case "roofline":
      return { kind: "roofline" };
    case "fitted":
      return await fitted(cost, table);
    case "kernel-tables":
      return await kernelTables(cost, table);
    case "profile":
      return await profile(cost, table);
  }
}

async function fitted(
  cost: Written<"fitted">,
  table: (path: string) => Promise<TableText>,
): Promise<CostChoice> {
  const { text, name } = await table(cost.file);
  return { kind: "fitted", fitted: parseFittedCost(text, name) };
}

async function kernelTables(
  cost: Written<"kernel-tables">,
  table: (path: string) => Promise<TableText>,
): Promise<CostChoice> {
  return {
    kind: "kernel-tables",
    tables: {
      gemm: await table(cost.gemm),
      contextAttention: await table(cost.contextAttention),
      generationAttention: await table(cost.generationAttention),
      allReduce: await table(cost.allReduce),
    },
    stepOverheadUs: parseDurationUs(cost.stepOverhead, "cost.stepOverhead"),
    sequenceOverheadUs: parseDurationUs(cost.sequenceOverhead, "cost.sequenceOverhead"),
  };
}

async function profile(
  cost: Written<"profile">,
  table: (path: string) => Promise<TableText>,
): Promise<CostChoice> {
  return {
    kind: "profile",
    profile: {
      dense: await table(cost.dense),
      perSequence: await table(cost.perSequence),
      attention: await table(cost.attention),
      ...(cost.skew !== undefined && { skew: await table(cost.skew) }),
    },
    chunks: cost.chunks,
    ...(cost.skewDefault !== undefined && { skewDefault: cost.skewDefault }),
    stepOverheadUs: parseDurationUs(cost.stepOverhead, "cost.stepOverhead"),
  };
}

/** Plain or gzipped text, up to the bound. */
async function readTable(path: string): Promise<TableText> {
  const unreadable = (parts: object): ManxError =>
    new ManxError("MANX_FILE_UNREADABLE", { where: path, ...parts });
  const file = createReadStream(path);
  const unpacked = path.endsWith(".gz") ? file.pipe(createGunzip()) : file;
  // An error of the file does not go through the pipe by itself.
  if (unpacked !== file) file.on("error", (cause) => unpacked.destroy(cause));
  const pieces: Buffer[] = [];
  let bytes = 0;
  try {
    for await (const piece of unpacked as AsyncIterable<Buffer>) {
      bytes += piece.length;
      if (bytes > BYTES_MAX)
        throw unreadable({ expected: `at most ${BYTES_MAX} bytes`, got: "more" });
      pieces.push(piece);
    }
  } catch (thrown) {
    if (thrown instanceof ManxError) throw thrown;
    const cause = thrown as NodeJS.ErrnoException;
    throw unreadable({ got: cause.code ?? cause.message, cause });
  } finally {
    file.destroy();
  }
  return { name: path, text: Buffer.concat(pieces).toString("utf8") };
}
