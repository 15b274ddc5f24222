/** Verdicts with sign and word: colour only repeats them. */
import type { ResultDocument, ResultVerdict } from "../load/index.ts";
import { html, type Markup, NOTHING } from "./markup.ts";
import type { RunGroup } from "./run-group.ts";

const SIGNS = { pass: "✓", fail: "✗", unknown: "?" } as const;
const WORDS = { pass: "passed", fail: "failed", unknown: "unknown" } as const;

type Status = ResultVerdict["status"];

/** What failed and what is unknown in the open, what passed behind a summary. */
export function verdictsOf({ runs }: RunGroup): Markup {
  const all = runs.flatMap(({ title, run }) =>
    run.verdicts.map((verdict) => ({
      verdict,
      about: runs.length > 1 ? `${title}: ${verdict.name}` : verdict.name,
    })),
  );
  if (all.length === 0) return NOTHING;
  const list = (items: typeof all): Markup =>
    html`<ul class="verdicts">${items.map(
      ({ verdict: { status, text }, about }) =>
        html`<li class="${status}"><b>${SIGNS[status]} ${WORDS[status]}</b> ${about}: ${text}</li>
`,
    )}</ul>`;
  const passed = all.filter(({ verdict }) => verdict.status === "pass");
  const others = all.filter(({ verdict }) => verdict.status !== "pass");
  return html`${others.length > 0 && list(others)}${
    passed.length > 0 &&
    html`<details><summary>✓ ${passed.length} of ${all.length} checks passed</summary>${list(passed)}</details>`
  }`;
}

/** `6 checks passed, 3 unknown`; nothing if no run is judged. */
export function verdictSummary(document: ResultDocument): Markup {
  const all = document.runs.flatMap(({ verdicts }) => verdicts);
  const parts = (["fail", "unknown", "pass"] as const satisfies readonly Status[]).flatMap(
    (status) => {
      const count = all.filter((verdict) => verdict.status === status).length;
      return count === 0
        ? []
        : [html`<span class="${status}">${SIGNS[status]} ${count} ${WORDS[status]}</span> `];
    },
  );
  return parts.length === 0 ? NOTHING : html`<p class="checks">Checks: ${parts}</p>`;
}
