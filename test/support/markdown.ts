/** What the tests need to know of a Markdown file: its headings, anchors and links. */
import { posix } from "node:path";

export interface MarkdownFacts {
  readonly h1: readonly string[];
  /** As GitHub makes them, and `<a id>`. */
  readonly anchors: ReadonlySet<string>;
  readonly links: readonly { readonly line: number; readonly target: string }[];
}

export function readMarkdown(text: string): MarkdownFacts {
  const h1: string[] = [];
  const anchors = new Set<string>();
  const links: { line: number; target: string }[] = [];
  let fence = "";
  for (const [index, raw] of text.split("\n").entries()) {
    const line = index + 1;
    const mark = /^\s*(```+|~~~+)/.exec(raw)?.[1];
    if (mark !== undefined && (fence === "" || mark.startsWith(fence))) {
      fence = fence === "" ? mark : "";
      continue;
    }
    if (fence !== "") continue;
    const heading = /^(#{1,6}) +(.*?)#*\s*$/.exec(raw);
    if (heading !== null) {
      if (heading[1] === "#") h1.push(heading[2]!);
      addSlug(anchors, heading[2]!);
    }
    // A link inside `code` is an example.
    const prose = raw.replace(/(`+).*?\1/g, "");
    for (const [, id] of raw.matchAll(/<a (?:id|name)="([^"]+)"/g)) anchors.add(id!);
    for (const [, target] of prose.matchAll(/\]\(<?([^)\s>]+)>?(?: "[^"]*")?\)/g)) {
      links.push({ line, target: target! });
    }
    for (const [, target] of prose.matchAll(/^\[[^\]]+\]:\s*(\S+)/g)) {
      links.push({ line, target: target! });
    }
  }
  return { h1, anchors, links };
}

function addSlug(anchors: Set<string>, heading: string): void {
  const slug = heading
    .replace(/\[([^\]]*)\]\([^)]*\)/g, "$1")
    .trim()
    .toLowerCase()
    .replace(/[^\p{L}\p{N}\p{M}_ -]/gu, "")
    .replace(/ /g, "-");
  let unique = slug;
  for (let copy = 1; anchors.has(unique); copy += 1) unique = `${slug}-${copy}`;
  anchors.add(unique);
}

/**
 * @param path of the file that `facts` are of.
 * @param markdown all Markdown texts by path, for anchors.
 * @param files all paths of the project.
 */
export function linkProblems(
  path: string,
  facts: MarkdownFacts,
  markdown: ReadonlyMap<string, string>,
  files: ReadonlySet<string>,
): string[] {
  const problems: string[] = [];
  for (const { line, target } of facts.links) {
    if (/^[a-z][a-z+.-]*:/.test(target)) continue;
    const [file = "", anchor] = target.split("#");
    const to = file === "" ? path : posix.join(posix.dirname(path), decodeURI(file));
    const folder = `${to.replace(/\/$/, "")}/`;
    if (!files.has(to) && ![...files].some((one) => one.startsWith(folder))) {
      problems.push(`${path}:${line} links to ${target}, which does not exist`);
    } else if (anchor !== undefined && markdown.has(to)) {
      const anchors = readMarkdown(markdown.get(to)!).anchors;
      if (!anchors.has(decodeURIComponent(anchor))) {
        problems.push(`${path}:${line} links to ${target}, which is no heading there`);
      }
    }
  }
  return problems;
}
