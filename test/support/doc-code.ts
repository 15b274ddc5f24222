/** The code of a how-to page as a test runs it: what stands there, and nothing else. */

/** The TypeScript blocks of a page, in their order. */
export function tsBlocks(page: string): string[] {
  return [...page.matchAll(/```ts\n([\s\S]*?)```/g)].map(([, code]) => code!);
}

/**
 * Runs a block that has no types in it.
 * @param answer an expression in its names.
 * @param names what its imports would bring, and what it takes for granted.
 */
export function runCode(
  code: string,
  answer: string,
  names: Readonly<Record<string, unknown>>,
): Promise<unknown> {
  const body = code.replace(/^import .*$/gm, "");
  const make = new Function(
    ...Object.keys(names),
    `return (async () => {${body}\nreturn ${answer};})()`,
  );
  return make(...Object.values(names)) as Promise<unknown>;
}
