/** A cycle in "needs", if there is one: without recursion, since graphs of thousands of tasks are allowed. */

/**
 * @param needs per name; names that are no key are ignored.
 * @returns the cycle as `a → b → a`, or undefined.
 */
export function findCycle(
  needs: ReadonlyMap<string, readonly string[]>,
): readonly string[] | undefined {
  const done = new Set<string>();
  for (const start of needs.keys()) {
    const path: string[] = [];
    const onPath = new Set<string>();
    const stack: { readonly name: string; next: number }[] = [];
    const enter = (name: string): void => {
      path.push(name);
      onPath.add(name);
      stack.push({ name, next: 0 });
    };
    if (!done.has(start)) enter(start);
    for (let top = stack.at(-1); top !== undefined; top = stack.at(-1)) {
      const need = needs.get(top.name)![top.next];
      top.next += 1;
      if (need === undefined) {
        done.add(top.name);
        onPath.delete(top.name);
        path.pop();
        stack.pop();
      } else if (onPath.has(need)) return [...path.slice(path.indexOf(need)), need];
      else if (needs.has(need) && !done.has(need)) enter(need);
    }
  }
  return undefined;
}
