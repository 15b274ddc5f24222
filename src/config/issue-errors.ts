/** Each thing that zod found wrong in a section as one error that points at the line, the variable or the flag. */
import { type ErrorParts, ManxError, nearestName } from "../core/index.ts";
import { type ConfigPath, pathText, valueAt } from "./config-path.ts";
import { discriminators, type Issue, issueText } from "./issue-text.ts";
import type { SchemaOutline } from "./schema-outline.ts";
import type { Origins } from "./section-config.ts";
import { shownValue } from "./shown-value.ts";

export class IssueErrors {
  readonly #origins: Origins;
  readonly #outline: SchemaOutline;
  readonly #written: unknown;

  /** @param written the section before it was checked. */
  constructor(origins: Origins, outline: SchemaOutline, written: unknown) {
    this.#origins = origins;
    this.#outline = outline;
    this.#written = written;
  }

  of(issue: Issue): ManxError[] {
    return this.#at(issue, issue.path as ConfigPath);
  }

  #at(issue: Issue, path: ConfigPath): ManxError[] {
    if (issue.code === "unrecognized_keys")
      return issue.keys.map((key) => this.#unknownKey(path, key));
    if (issue.code === "invalid_union") {
      const branch = likeliest(issue.errors);
      if (branch !== undefined) {
        return branch.flatMap((one) => this.#at(one, [...path, ...(one.path as ConfigPath)]));
      }
    }
    return [this.#wrongValue(issue, path)];
  }

  #wrongValue(issue: Issue, path: ConfigPath): ManxError {
    const value = valueAt(this.#written, path);
    const name = pathText([this.#origins.section, ...path]);
    const last = path[path.length - 1];
    const got = shownValue(value, this.#outline.isSecret(path), String(last ?? ""));
    return new ManxError("MANX_CONFIG_VALUE", {
      what: value === undefined ? `${name} is missing` : `invalid ${name}`,
      ...this.#origins.placeOf(path),
      expected: issueText(issue),
      ...(value !== undefined && { got }),
      ...this.#nearestValue(issue, value),
    });
  }

  #nearestValue(issue: Issue, value: unknown): Pick<ErrorParts, "hint"> {
    if (typeof value !== "string") return {};
    const values = issue.code === "invalid_value" ? issue.values : [];
    const options = issue.code === "invalid_union" ? discriminators(issue) : [];
    const near = nearestName(value, [...values, ...options].map(String));
    return near === undefined ? {} : { hint: `did you mean "${near}"?` };
  }

  #unknownKey(path: ConfigPath, key: string): ManxError {
    const { section, file } = this.#origins;
    const names = this.#outline.namesAt(path);
    const near = nearestName(key, names);
    const whole = [section, ...path, key];
    const { kind } = this.#origins.of([...path, key]);
    const place =
      kind === "file" && file !== undefined
        ? file.placeOfKey(whole)
        : this.#origins.placeOf([...path, key]);
    return new ManxError("MANX_CONFIG_KEY", {
      what: `unknown key ${pathText(whole)}`,
      ...place,
      expected: names.length === 0 ? "no keys" : `one of ${names.join(", ")}`,
      ...(near !== undefined && { hint: `did you mean "${near}"?` }),
    });
  }
}

/** Of the ways in which a value might have been meant, the one whose faults lie deepest; none if all fail at its top. */
function likeliest(ways: readonly (readonly Issue[])[]): readonly Issue[] | undefined {
  const depth = (issues: readonly Issue[]): number =>
    Math.max(
      ...issues.map(({ path, code }) => path.length + (code === "unrecognized_keys" ? 1 : 0)),
    );
  const deep = ways.filter((issues) => issues.length > 0 && depth(issues) > 0);
  return deep.sort((a, b) => depth(b) - depth(a) || a.length - b.length)[0];
}
