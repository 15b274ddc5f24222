/** Shares as bars from 0 to 100 %, each with its figure and n: KV memory in use, streams that stalled, goodput. */
import { formatFigure, formatPlain } from "./figure.ts";
import { html, type Markup, NOTHING } from "./markup.ts";
import type { GroupRun, RunGroup } from "./run-group.ts";

/** @param share 0 to 1; what lies outside is drawn at the end. */
export function shareBar(share: number): Markup {
  const width = Math.round(Math.min(1, Math.max(0, share)) * 1_000) / 10;
  return html`<svg class="bar" viewBox="0 0 100 6" preserveAspectRatio="none" aria-hidden="true"><rect class="track" width="100" height="6"/><rect class="fill" width="${width}" height="6"/></svg>`;
}

interface Share {
  readonly title: string;
  /** Nobody needs to see that a lever which no run has did nothing; that no stream stalled is news. */
  readonly hidesZeros?: true;
  readonly of: (run: GroupRun["run"]) => { value: number | null; n: number } | undefined | null;
}

const SHARES: readonly Share[] = [
  { title: "KV memory used by live tokens", of: (run) => run.gauges.kvLiveShare },
  {
    title: "prompt tokens from the cache",
    hidesZeros: true,
    of: (run) => run.gauges.prefixHitShare,
  },
  {
    title: "streams with a stall",
    of: ({ stalls }) => stalls && { value: stalls.share, n: stalls.streams },
  },
  {
    title: "goodput, of all offered",
    of: ({ goodput, counts }) => goodput && { value: goodput.shareOfOffered, n: counts.offered },
  },
];

export function shareFigure({ runs }: RunGroup): Markup {
  const parts = SHARES.flatMap(({ title, hidesZeros, of }) => {
    const shares = runs.flatMap((one) => {
      const { value, n } = of(one.run) ?? { value: null, n: 0 };
      return value === null ? [] : [{ title: one.title, value, n }];
    });
    const isShown = shares.some(({ value }) => hidesZeros !== true || value > 0);
    return isShown ? [{ title, rows: shares.map(barRow) }] : [];
  });
  if (parts.length === 0) return NOTHING;
  return html`<figure class="shares"><figcaption>Shares</figcaption><div>${parts.map(
    ({ title, rows }) => html`<table><caption>${title}</caption><tbody>${rows}</tbody></table>`,
  )}</div></figure>`;
}

function barRow({ title, value, n }: { title: string; value: number; n: number }): Markup {
  return html`<tr><th scope="row">${title}</th><td class="barcell">${shareBar(value)}</td><td>${formatFigure(value, "share")}</td><td class="soft">n ${formatPlain(n)}</td></tr>`;
}
