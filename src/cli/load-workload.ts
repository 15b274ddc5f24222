/** The requests of a `manx load` run, generated or read from a trace, and what the result says of them. */
import { US_PER_S } from "../core/index.ts";
import type { ResultDocument, WorkRequest } from "../load/index.ts";
import type { LoadPlan } from "./load-flags.ts";

type Load = typeof import("../load/index.ts");

export interface Workload {
  readonly requests: Iterable<WorkRequest>;
  readonly spanUs: number;
  /** Null if they are not counted ahead. */
  readonly expected: number | null;
  /** The trace says which prompts begin alike. */
  readonly sharesPrefixes: boolean;
  readonly arrivals: string;
  readonly text: string;
}

/** @throws as `readTrace` does. @param notes is given what the user should know of the trace. */
export async function openWorkload(
  load: Load,
  { workload, seed }: LoadPlan,
  notes: ResultDocument["notes"],
): Promise<Workload> {
  if (workload.kind === "generated") {
    const { promptTokens, outputTokens, durationUs } = workload;
    return {
      requests: load.generateWorkload({ ...workload, seed }),
      spanUs: durationUs,
      expected: null,
      sharesPrefixes: false,
      arrivals: load.describeArrivals({ ...workload, seed }),
      text: `${promptTokens} tokens in, up to ${outputTokens} out`,
    };
  }
  const { path, speed, limit, fromUs, durationUs } = workload;
  const trace = await load.readTrace(path, {
    speed,
    fromUs,
    ...(limit !== undefined && { limit }),
    ...(durationUs !== undefined && { durationUs }),
  });
  if (trace.setAside > 0) {
    const first = trace.problems[0]!;
    notes.push({
      level: "warn",
      text:
        `${trace.setAside} of ${trace.rows} trace rows set aside; ` +
        `the first in line ${first.row}: expected ${first.expected}, got ${first.got}`,
    });
  }
  if (trace.reordered > 0) {
    notes.push({ level: "info", text: `${trace.reordered} trace rows put in order of time` });
  }
  const { requests } = trace;
  return {
    requests,
    spanUs: spanOf(requests),
    expected: requests.length,
    sharesPrefixes: requests.some(({ blockHashes }) => blockHashes !== undefined),
    arrivals: `replay of a ${trace.format} trace${speed === 1 ? "" : `, ${speed} times as fast`}`,
    text: `${requests.length} requests of ${path}`,
  };
}

/** The last request's own gap is not in a trace: a mean one stands for it, and a second if there is none at all. */
function spanOf(requests: readonly WorkRequest[]): number {
  const lastUs = requests.at(-1)?.atUs ?? 0;
  return lastUs === 0 ? US_PER_S : Math.round((lastUs * requests.length) / (requests.length - 1));
}
