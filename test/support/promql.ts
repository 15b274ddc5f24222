/**
 * Reads PromQL as far as dashboards and alert rules use it, and throws on anything else: a test of them must not pass on an
 * expression that Prometheus would refuse. Grammar: prometheus.io/docs/prometheus/latest/querying.
 */
import { parse as parseYaml } from "yaml";

export interface UsedMetric {
  readonly metric: string;
  /** That it is matched or grouped by. */
  readonly labels: readonly string[];
  readonly expression: string;
}

const AGGREGATIONS = ["sum", "avg", "min", "max", "count", "topk", "quantile"];
const FUNCTIONS = ["rate", "increase", "histogram_quantile", "label_values", "clamp_min", "abs"];
const TAKES_RANGE = ["rate", "increase"];
const TOKEN =
  /\s*(?:(\d+(?:\.\d+)?(?:e[+-]?\d+)?(?:ms|[smhdwy])?)|("(?:[^"\\]|\\.)*")|([a-zA-Z_:$][\w:]*)|(=~|!~|!=|==|>=|<=|[-+*/%^(){}[\],=<>]))/y;
const PRECEDENCE: Readonly<Record<string, number>> = {
  or: 1,
  and: 2,
  unless: 2,
  "==": 3,
  "!=": 3,
  ">": 3,
  "<": 3,
  ">=": 3,
  "<=": 3,
  "+": 4,
  "-": 4,
  "*": 5,
  "/": 5,
};

class Parser {
  readonly used: { metric: string; labels: string[] }[] = [];
  readonly #tokens: string[] = [];
  readonly #text: string;
  #at = 0;

  constructor(text: string) {
    this.#text = text;
    TOKEN.lastIndex = 0;
    while (TOKEN.lastIndex < text.trimEnd().length) {
      const from = TOKEN.lastIndex;
      const match = TOKEN.exec(text);
      if (match === null) throw new Error(`no PromQL at ${from}: ${text.slice(from, from + 20)}`);
      this.#tokens.push(match[0].trim());
    }
  }

  parse(): void {
    this.#expression(0);
    if (this.#at < this.#tokens.length) this.#fail("an operator");
  }

  #fail(expected: string): never {
    throw new Error(`expected ${expected}, got ${this.#peek() ?? "the end"} in ${this.#text}`);
  }

  #peek(): string | undefined {
    return this.#tokens[this.#at];
  }

  #next(): string {
    const token = this.#peek() ?? this.#fail("more");
    this.#at += 1;
    return token;
  }

  #take(wanted: string): void {
    if (this.#next() !== wanted) {
      this.#at -= 1;
      this.#fail(wanted);
    }
  }

  #expression(least: number): void {
    this.#operand();
    for (;;) {
      const power = PRECEDENCE[this.#peek() ?? ""];
      if (power === undefined || power <= least) return;
      this.#next();
      if (this.#peek() === "bool") this.#next();
      if (this.#peek() === "on" || this.#peek() === "ignoring") {
        this.#next();
        this.#names();
      }
      this.#expression(power);
    }
  }

  #operand(): void {
    const token = this.#next();
    if (token === "(") {
      this.#expression(0);
      this.#take(")");
    } else if (AGGREGATIONS.includes(token)) this.#aggregation();
    else if (this.#peek() === "(") this.#call(token);
    else if (/^\d/.test(token)) return;
    else if (/^[a-zA-Z_:]/.test(token)) this.#selector(token);
    else this.#fail("a metric, a number or a function");
  }

  #aggregation(): void {
    const from = this.used.length;
    let by: string[] = [];
    if (this.#peek() === "by") {
      this.#next();
      by = this.#names();
    }
    this.#take("(");
    this.#arguments();
    for (const one of this.used.slice(from)) one.labels.push(...by);
  }

  #call(name: string): void {
    if (!FUNCTIONS.includes(name)) this.#fail(`a function that this test knows, not ${name}`);
    const from = this.used.length;
    this.#take("(");
    this.#arguments();
    const hasRange = this.#tokens[this.#at - 2] === "]";
    if (TAKES_RANGE.includes(name) !== hasRange)
      this.#fail(`${name} of ${hasRange ? "an instant" : "a range"}`);
    const inner = this.used.slice(from);
    if (name === "histogram_quantile" && !inner.every(({ labels }) => labels.includes("le"))) {
      this.#fail("buckets grouped by le");
    }
    if (name === "rate" || name === "increase") {
      const wrong = inner.find(({ metric }) => !/_(total|count|sum|bucket)$/.test(metric));
      if (wrong !== undefined) this.#fail(`a counter, not ${wrong.metric}`);
    }
  }

  #arguments(): void {
    for (;;) {
      this.#expression(0);
      if (this.#next() === ")") return;
      if (this.#tokens[this.#at - 1] !== ",") this.#fail(", or )");
    }
  }

  #names(): string[] {
    const names: string[] = [];
    this.#take("(");
    while (this.#peek() !== ")") {
      names.push(this.#next());
      if (this.#peek() === ",") this.#next();
    }
    this.#take(")");
    return names;
  }

  #selector(metric: string): void {
    const labels: string[] = [];
    if (this.#peek() === "{") {
      this.#next();
      while (this.#peek() !== "}") {
        labels.push(this.#next());
        const operator = this.#next();
        if (!["=", "!=", "=~", "!~"].includes(operator)) this.#fail("a matcher");
        const value = this.#next();
        if (!value.startsWith('"')) this.#fail("a text");
        if (operator.endsWith("~")) new RegExp(value.slice(1, -1).replaceAll("$", ""));
        if (this.#peek() === ",") this.#next();
      }
      this.#take("}");
    }
    if (this.#peek() === "[") {
      this.#next();
      const range = this.#next();
      if (!/^(\d+[smhdwy]|\$__rate_interval)$/.test(range)) this.#fail("a duration");
      this.#take("]");
    }
    this.used.push({ metric, labels });
  }
}

/** @throws if it is no PromQL that this reader knows. */
export function metricsIn(expression: string): UsedMetric[] {
  const parser = new Parser(expression);
  parser.parse();
  return parser.used.map((one) => ({ ...one, expression }));
}

interface Rule {
  readonly record?: string;
  readonly alert?: string;
  readonly expr: string;
  readonly annotations?: Readonly<Record<string, string>>;
}

export function rulesIn(text: string): Rule[] {
  const { groups } = parseYaml(text) as { groups: { rules: Rule[] }[] };
  return groups.flatMap(({ rules }) => rules);
}

interface DashboardPanel {
  readonly targets?: readonly { readonly expr: string }[];
}

/** Of a dashboard or a file of rules; metrics that the file itself records are its own. */
export function usedMetrics(path: string, text: string): UsedMetric[] {
  if (path.endsWith(".json")) {
    const { panels } = JSON.parse(text) as { panels: DashboardPanel[] };
    return panels.flatMap(({ targets = [] }) => targets.flatMap(({ expr }) => metricsIn(expr)));
  }
  const rules = rulesIn(text);
  const recorded = new Set(rules.map(({ record }) => record));
  return rules.flatMap(({ expr }) => metricsIn(expr)).filter(({ metric }) => !recorded.has(metric));
}
