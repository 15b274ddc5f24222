/** What no text of the project may hold, code or not, and how its files are named. */
import { posix } from "node:path";

/** Written so that the rules do not break themselves. */
const LEFTOVER = new RegExp(`\\b(${["TO" + "DO", "FIX" + "ME", "XX" + "X"].join("|")})\\b`);
const MACHINE_FOLDERS = ["work", "tmp", "home", "root", "Users", "mnt"].join("|");
const MACHINE_PATH = new RegExp(`(?<![\\w.:/~*>-])/(${MACHINE_FOLDERS})/\\w`);
const BESIDE = /(^|[^\w.])(\.\.\/)+shared(?![\w-])/;
const NAMELESS = /^(utils?|types|helpers?|misc|common)\./;
/** A dot may also part a suffix (`x.test.ts`) or a version (`vllm-0.19.ts`). */
const KEBAB_CASE = /^[a-z0-9]+([-.][a-z0-9]+)*\.m?ts$/;

export function textProblems(path: string, text: string): string[] {
  const problems: string[] = [];
  for (const [index, line] of text.split("\n").entries()) {
    const at = `${path}:${index + 1}`;
    if (LEFTOVER.test(line)) problems.push(`${at} leaves work behind; do it or file an issue`);
    if (MACHINE_PATH.test(line))
      problems.push(`${at} names a path of one machine; use a relative one`);
    if (BESIDE.test(line)) problems.push(`${at} leads out of the repository; copy what it needs`);
    if (/[ \t]$/.test(line)) problems.push(`${at} ends in blanks; run npm run format`);
  }
  return problems;
}

/** X of each `npm run X`, in prose, comments and code. */
export function namedScripts(path: string, text: string): { at: string; name: string }[] {
  return text.split("\n").flatMap((line, index) =>
    [...line.matchAll(/\bnpm run (?:--?\w+ )*([a-z][\w:-]*)/g)].map(([, name]) => ({
      at: `${path}:${index + 1}`,
      name: name!,
    })),
  );
}

export function nameProblem(path: string): string | undefined {
  if (!/\.m?ts$/.test(path)) return undefined;
  const name = posix.basename(path);
  if (NAMELESS.test(name)) return `${path}: a file is named after the one noun that it exports`;
  return KEBAB_CASE.test(name) ? undefined : `${path}: a file name is in kebab-case`;
}
