import {
  guardedAnswer,
  httpRail,
  modelRail,
  patternRail,
  Rails,
  TaxReport,
} from "../../../src/runtime/index.ts";

interface Models {
  answer(request: string, signal: AbortSignal): Promise<Response>; // or an SDK's stream, or pieces of text
  judge(system: string, user: string, signal: AbortSignal): Promise<string>;
}

/** From cheap to dear; made once, shared by all turns. */
export function makeRails(models: Models, classifierUrl: string): Rails {
  return new Rails([
    httpRail({ name: "injection", stage: "request", url: classifierUrl, budget: "250ms" }),
    patternRail({ name: "cards", patterns: ["\\b\\d{4}( ?\\d{4}){3}\\b"] }),
    patternRail({ name: "doses", patterns: [/\b(dose|pill)s?\b/i], onMatch: "unsure" }),
    modelRail({
      name: "doctor",
      when: "unsure", // asked only where a rail above could not tell
      budget: "1500ms",
      onFailure: "open",
      instruction: "Is this medical advice?",
      ask: ({ system, user, signal }) => models.judge(system, user, signal),
    }),
  ]);
}

const tax = new TaxReport();

export async function answer(
  models: Models,
  rails: Rails,
  request: string,
  show: (text: string) => void,
) {
  const guarded = guardedAnswer({
    rails,
    request,
    ask: (round) => models.answer(round.request, round.signal),
    reformulate: ({ rule }, text) => `${text}\n\nAnswer without what "${rule}" objects to.`,
  });
  for await (const text of guarded.text()) show(text); // throws MANX_GUARD_REFUSED or MANX_GUARD_FAILED
  tax.add(await guarded.outcome);
  return tax.paths;
}
