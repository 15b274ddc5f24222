/** A model as the judge: asked through whatever client one has, it answers with a word. */
import { JUDGE_FORM, readJudgement, type Verdict } from "../../policy/guard/index.ts";
import { type Rail, type RailContext, type RailOptions, rail } from "./rail.ts";

export interface JudgeQuestion {
  /** For the system's place: the instruction and the form of the answer. */
  readonly system: string;
  /** For the user's place: the text to judge. */
  readonly user: string;
  readonly signal: AbortSignal;
}

export interface ModelRailOptions extends RailOptions {
  /** A question to be answered with yes (flag) or no, such as `Is this medical advice?` */
  readonly instruction: string;
  /** @returns what the model says; its first word counts. */
  readonly ask: (question: JudgeQuestion) => PromiseLike<unknown>;
}

/** More than a judge reads within any budget. */
const TEXT_CHARS_MAX = 200_000;

/** @throws MANX_RAIL_INVALID */
export function modelRail(options: ModelRailOptions): Rail {
  const { instruction, ask } = options;
  const system = `${instruction}\n\n${JUDGE_FORM}`;
  const check = async (user: string, { signal }: RailContext): Promise<Verdict> =>
    user.length > TEXT_CHARS_MAX ? "failed" : readJudgement(await ask({ system, user, signal }));
  return rail({ ...options, check });
}
