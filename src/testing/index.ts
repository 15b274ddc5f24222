/** `manx/testing`: an agent in simulated time, models that say what they are told, and budgets on what came of it. */
export type { Asked, ReplyScript } from "./asked.ts";
export {
  type BudgetReport,
  type BudgetRow,
  checkBudget,
  checkTimes,
  type Limits,
  type TurnBudget,
} from "./budget.ts";
export { ScriptedModel } from "./scripted-model.ts";
export { type ScriptedProvider, startScriptedProvider } from "./scripted-provider.ts";
export type { ScriptedCall, ScriptedReply } from "./scripted-reply.ts";
export { type SimToolDefinition, SimWorld, type SimWorldOptions } from "./sim-world.ts";
