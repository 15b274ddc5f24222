import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { BoundedLabels, OTHER_LABEL } from "./bounded-labels.ts";
import { tenantOf } from "./tenant.ts";

describe("tenantOf", () => {
  it.each([
    [{}, undefined, ""],
    [{}, "ada", "ada"],
    [{ "x-manx-tenant": " team a " }, "ada", "team a"],
    [{ "x-manx-tenant": "" }, "ada", ""],
  ])("of %j and user %j is %j", (headers, user, tenant) => {
    expect(tenantOf(headers, user)).toBe(tenant);
  });

  it("keeps a long user short and apart from one with the same beginning", () => {
    const names = ["a", "b"].map((end) => tenantOf({}, "x".repeat(200) + end));
    expect(new Set(names).size).toBe(2);
    expect(names.map((name) => name.length)).toEqual([128, 128]);
  });

  it("refuses a header that is too long", () => {
    expect(() => tenantOf({ "x-manx-tenant": "x".repeat(129) }, undefined)).toThrow(
      expect.objectContaining({ code: "MANX_REQUEST_INVALID", where: "x-manx-tenant" }),
    );
  });
});

describe("BoundedLabels", () => {
  it("gives the first names themselves and all others one label, for ever", () => {
    fc.assert(
      fc.property(fc.array(fc.string()), fc.nat(5), (names, most) => {
        const labels = new BoundedLabels(most);
        const first = [...new Set(names)].slice(0, most);
        for (const name of [...names, ...names]) {
          expect(labels.labelOf(name)).toBe(first.includes(name) ? name : OTHER_LABEL);
        }
      }),
    );
  });
});
