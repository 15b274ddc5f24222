/** docs/how-to/gateway-metrics.md, the dashboards and the alert rules name the metrics that there are, with their labels. */
import { describe, expect, it } from "vitest";
import { dashboardFiles } from "../scripts/dashboards.ts";
import { startGateway } from "../src/gateway/index.ts";
import { readMarkdown } from "./support/markdown.ts";
import { metricsIn, rulesIn, usedMetrics } from "./support/promql.ts";
import { projectFiles, readText } from "./support/source-tree.ts";

const PAGE = "docs/how-to/gateway-metrics.md";
const ROW = /^\| `([a-z0-9_]+)` \| ([a-z, ]*) ?\| .+ \|$/gm;

/** Family → labels, as documented. */
const documented = new Map(
  [...readText(PAGE).matchAll(ROW)].map(([, name = "", labels = ""]) => [
    name.startsWith("process_") ? name : `manx_gateway_${name}`,
    labels
      .split(",")
      .map((label) => label.trim())
      .filter((label) => label !== ""),
  ]),
);

async function exported(): Promise<Map<string, string>> {
  const gateway = await startGateway({ upstream: "http://127.0.0.1:9" });
  const text = await gateway.metricsText();
  await gateway.close();
  return new Map(
    [...text.matchAll(/^# TYPE (\S+) (\S+)$/gm)].map(([, name, type]) => [name!, type!]),
  );
}

describe("the list of metrics", () => {
  it("has each that /metrics has, and no other", async () => {
    const names = [...(await exported()).keys()];
    expect(names.length).toBeGreaterThan(60);
    expect([...documented.keys()].sort()).toEqual(names.sort());
  });
});

describe("dashboards and alerts", () => {
  const files = [...projectFiles("deploy/grafana"), ...projectFiles("deploy/alerts")].filter(
    (path) => /\.(json|yml)$/.test(path),
  );

  it("use metrics that there are, each by a label that it has", async () => {
    expect(files.length).toBeGreaterThanOrEqual(3);
    const types = await exported();
    const problems: string[] = [];
    for (const path of files) {
      const used = usedMetrics(path, readText(path));
      expect(used.length, path).toBeGreaterThan(3);
      for (const { metric, labels, expression } of used) {
        const family = metric.replace(/_(bucket|sum|count)$/, "");
        const isHistogram = types.get(family) === "histogram";
        if (!types.has(isHistogram ? family : metric)) {
          problems.push(`${path}: no metric ${metric} in ${expression}`);
          continue;
        }
        const known = [...(documented.get(isHistogram ? family : metric) ?? []), "instance", "job"];
        if (metric.endsWith("_bucket")) known.push("le");
        for (const label of labels) {
          if (!known.includes(label)) problems.push(`${path}: ${metric} has no label ${label}`);
        }
      }
    }
    expect(problems).toEqual([]);
  });

  it("are what the script makes (else: npm run docs)", () => {
    for (const [path, text] of dashboardFiles()) expect(readText(path), path).toBe(text);
  });

  it("lead from each alert to what to do", () => {
    const page = readText(PAGE);
    const { anchors } = readMarkdown(page);
    const alerts = rulesIn(readText("deploy/alerts/manx.rules.yml")).filter(({ alert }) => alert);
    expect(alerts.length).toBeGreaterThan(10);
    for (const { alert, annotations } of alerts) {
      expect(page, alert).toContain(alert);
      const [path, anchor] = annotations?.runbook_url?.split("#") ?? [];
      expect(path, alert).toBe(PAGE);
      expect(anchors.has(anchor!), `${alert}: ${anchor}`).toBe(true);
    }
  });
});

describe("the reader of PromQL", () => {
  it.each([
    "sum by (a (x_total)",
    "rate(x_total)",
    "sum(rate(x[5m]))",
    "histogram_quantile(0.9, sum by (model) (rate(x_bucket[5m])))",
    'x{a="b"',
    "x{a=b}",
    "x >",
    "unknown(x)",
    "x y",
    "rate(x_total[5 parsecs])",
  ])("refuses %s", (text) => expect(() => metricsIn(text)).toThrow());

  it("finds the metrics with what they are matched and grouped by", () => {
    const found = metricsIn(
      'sum by (a, le) (rate(x_bucket{b=~"c|d"}[5m])) / 2 > bool y and z == 1',
    );
    expect(found.map(({ metric, labels }) => [metric, labels])).toEqual([
      ["x_bucket", ["b", "a", "le"]],
      ["y", []],
      ["z", []],
    ]);
  });
});
