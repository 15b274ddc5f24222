import { describe, expect, it } from "vitest";
import {
  emptyDocument,
  ladderDocument,
  loadDocument,
  withEveryText,
} from "../../test/support/sample-result.ts";
import { renderJunit } from "./junit.ts";

function totals(xml: string, element: string): string[] {
  return [
    ...xml.matchAll(
      new RegExp(`<${element} [^>]*?(tests="\\d+" failures="\\d+" errors="\\d+")`, "g"),
    ),
  ].map(([, found]) => found!);
}

it("makes a breached limit a failure, and what cannot be known an error", () => {
  const xml = renderJunit(loadDocument());
  const [fail, unknown, pass] = loadDocument().runs[0]!.verdicts;
  expect(totals(xml, "testsuites")).toEqual(['tests="3" failures="1" errors="1"']);
  expect(xml).toContain(
    `<testcase classname="load" name="goodput"><failure message="${fail!.text}"`,
  );
  expect(xml).toContain(
    `<testcase classname="load" name="errors"><error message="${unknown!.text}"`,
  );
  expect(xml).toContain(`<testcase classname="load" name="client"><system-out>${pass!.text}<`);
  expect(xml).toContain('<property name="seed" value="42"/>');
  expect(xml).toContain('time="30"');
});

it("has a suite for each run, and adds them up", () => {
  const xml = renderJunit(ladderDocument());
  expect(totals(xml, "testsuites")).toEqual(['tests="4" failures="0" errors="0"']);
  expect(totals(xml, "testsuite")).toHaveLength(4);
});

describe("never goes green on nothing", () => {
  it("when the run was cut short", () => {
    expect(renderJunit(emptyDocument())).toMatch(/name="complete"><error message="interrupted/);
  });

  it.each([
    ["no run is judged", { ...loadDocument().runs[0]!, verdicts: [] }],
    ["there is no run", undefined],
  ])("when %s", (_, run) => {
    const xml = renderJunit({ ...loadDocument(), runs: run === undefined ? [] : [run] });
    expect(totals(xml, "testsuites")).toEqual(['tests="1" failures="0" errors="1"']);
    expect(xml).toContain("no run carries a verdict");
  });
});

it("keeps hostile text out of the markup", () => {
  const mark = `"/><failure x='&]]>\u0000\u001b\ud800`;
  const xml = renderJunit(withEveryText(loadDocument(), mark));
  const bare = renderJunit(withEveryText(loadDocument(), "x"));
  expect(xml.match(/<[a-z/?]+/g)).toEqual(bare.match(/<[a-z/?]+/g));
  // biome-ignore lint/suspicious/noControlCharactersInRegex: XML 1.0 cannot hold them
  expect(xml).not.toMatch(/[\u0000-\u0008\u000b\u000c\u000e-\u001f]|\p{Surrogate}/u);
});
