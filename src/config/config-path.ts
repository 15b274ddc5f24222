/** Where a value stands in a configuration, and how that is written: `gateway.upstreams[0].key`. */
export type ConfigPath = readonly (string | number)[];

/** A name that needs no quotes. */
const PLAIN = /^[A-Za-z_$][\w$-]*$/;

export function pathText(path: ConfigPath): string {
  let text = "";
  for (const step of path) {
    if (typeof step === "number") text += `[${step}]`;
    else if (PLAIN.test(step)) text += text === "" ? step : `.${step}`;
    else text += `[${JSON.stringify(step)}]`;
  }
  return text;
}

/** What lies at `path`, or undefined. */
export function valueAt(root: unknown, path: ConfigPath): unknown {
  let value = root;
  for (const step of path) {
    if (typeof value !== "object" || value === null || !Object.hasOwn(value, step))
      return undefined;
    value = (value as Record<string | number, unknown>)[step];
  }
  return value;
}

/** A copy of `root` with the value put in at `path`; what is no object on the way is replaced by one. */
export function withValue(root: unknown, path: ConfigPath, value: unknown): unknown {
  const [step, ...rest] = path;
  if (step === undefined) return value;
  if (Array.isArray(root)) {
    return root.map((one, index) => (index === step ? withValue(one, rest, value) : one));
  }
  const fields = typeof root === "object" && root !== null ? (root as Record<string, unknown>) : {};
  return { ...fields, [step]: withValue(fields[step], rest, value) };
}
