/** What is wrong with a prompt before it is sent: each finding names the part, and the byte where it has one. */
import { ManxError } from "../../core/index.ts";
import { declaredTool } from "./declared-tool.ts";
import { nameOf, type PromptPart, textOf } from "./prompt-part.ts";
import { utf8Bytes } from "./utf8-bytes.ts";
import { volatileTexts } from "./volatile-text.ts";

export interface PromptFinding {
  readonly problem:
    | "time_stamp"
    | "random_id"
    /** Tools stand before all else: one that comes and goes by turn leaves no prefix. */
    | "turn_tools"
    /** A prefix so short that the provider does not keep it, in silence. */
    | "too_short"
    /** A prefix so close to the minimum that the provider's own count alone decides. */
    | "uncertain"
    /** Nobody knows what this model keeps. */
    | "unknown_model";
  /** Name of the part; "" of all of the prompt. */
  readonly part: string;
  /** Place in the part's list, such as the name of a tool; "" if it has none. */
  readonly field: string;
  /** UTF-8 byte within the part's text; null where there is no such place. */
  readonly byte: number | null;
  readonly text: string;
}

/** What is new each time, in parts that are declared static. */
export function staticFindings(parts: readonly PromptPart[]): PromptFinding[] {
  return parts.flatMap((part) => {
    if (part.kind === "history" || part.kind === "input" || part.stability !== "static") {
      return part.kind === "tools" && part.stability === "turn" ? [turnTools(part)] : [];
    }
    if (part.kind !== "tools") return volatileFindings(nameOf(part), "", textOf(part));
    return part.tools.flatMap((tool, i) => {
      const { name, description } = declaredTool(tool, `${nameOf(part)}[${i}]`);
      return volatileFindings(nameOf(part), name, description);
    });
  });
}

function volatileFindings(part: string, field: string, text: string): PromptFinding[] {
  return volatileTexts(text).map(({ cause, at }) => {
    const byte = utf8Bytes(text.slice(0, at));
    const what = cause === "time_stamp" ? "a time" : "an id";
    const where = field === "" ? "" : ` of ${field}`;
    return {
      problem: cause,
      part,
      field,
      byte,
      text: `${part}${where} is declared static and has ${what} at byte ${byte}: declare it turn, or take it out`,
    };
  });
}

function turnTools(part: PromptPart): PromptFinding {
  return {
    problem: "turn_tools",
    part: nameOf(part),
    field: "",
    byte: null,
    text: `${nameOf(part)} changes tools by turn, and all of the prompt stands behind them: send all, and restrict them by tool_choice`,
  };
}

/** @throws MANX_REQUEST_INVALID for the first of those that no layout can put right. */
export function refuseVolatile(findings: readonly PromptFinding[]): void {
  const first = findings.find(({ byte, problem }) => byte !== null || problem === "turn_tools");
  if (first === undefined) return;
  const { part, field, byte } = first;
  throw new ManxError("MANX_REQUEST_INVALID", {
    what: "a part of a prompt is not as stable as it is declared",
    where: field === "" ? part : `${part}, ${field}`,
    expected: "text that is the same in each request",
    got: byte === null ? "tools that vary by turn" : `${first.problem} at byte ${byte}`,
    hint: "declare the part session or turn, or move what varies into a part of its own",
  });
}
