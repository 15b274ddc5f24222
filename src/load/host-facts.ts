/** The machine that measured, for the result document. */
import { cpus } from "node:os";
import type { ResultDocument } from "./result-document.ts";

export function hostFacts(): NonNullable<ResultDocument["host"]> {
  const all = cpus();
  const cpu = all[0]?.model.trim() ?? "";
  return {
    platform: `${process.platform}-${process.arch}`,
    cpu: cpu === "" ? "unknown" : cpu,
    cores: all.length,
  };
}
