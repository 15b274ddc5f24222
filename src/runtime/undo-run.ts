/**
 * Takes back what a run has done. It belongs to no turn: the turn may be over, and what was done has to be undone all the
 * same. It has a limit of its own, and a failure is counted, never thrown.
 */
import type { RunScope } from "./call-run.ts";
import { Deadline } from "./deadline.ts";
import { Execution } from "./execution.ts";
import type { Tool, UndoneRun } from "./tool.ts";

const UNDO_US = 5_000_000;

export function undoRun(
  tool: Tool,
  what: { readonly callId: string; readonly args: unknown; readonly run: UndoneRun },
  { deadline: { clock }, counts, graceUs, work }: RunScope,
): void {
  const own = Deadline.within(clock, UNDO_US);
  const execution = new Execution(
    own,
    { graceUs },
    {
      run: ({ signal }) =>
        tool.undo?.(what.args as never, what.run, { signal, callId: what.callId }),
      settled: ({ kind }) => {
        if (kind === "value") counts.undone += 1;
        else counts.undoFailed += 1;
        own.close();
      },
      released: () => work.end(),
    },
  );
  work.begin();
  execution.begin();
}
