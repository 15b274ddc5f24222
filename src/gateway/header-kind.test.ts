import fc from "fast-check";
import { describe, expect, it } from "vitest";
import * as kinds from "./header-kind.ts";

const { headerKind } = kinds;

/** Each letter in either case, as senders like it. */
function anyCase(name: string): fc.Arbitrary<string> {
  return fc
    .array(fc.boolean(), { minLength: name.length, maxLength: name.length })
    .map((upper) => [...name].map((c, i) => (upper[i] ? c.toUpperCase() : c)).join(""));
}

const KNOWN = [
  ["connection", kinds.HOP_BY_HOP],
  ["proxy-authorization", kinds.HOP_BY_HOP | kinds.CREDENTIAL],
  ["transfer-encoding", kinds.HOP_BY_HOP],
  ["host", kinds.SET_ANEW],
  ["content-length", kinds.SET_ANEW | kinds.CONTENT_LENGTH],
  ["authorization", kinds.CREDENTIAL],
  ["x-api-key", kinds.CREDENTIAL],
  ["accept-encoding", kinds.ACCEPT_ENCODING],
  ["cache-control", kinds.PROXY_RULE],
  ["content-type", kinds.BODY_FORM],
  ["x-should-retry", kinds.RETRY_RULE],
  ["x-manx-deadline-ms", kinds.OWN],
  ["x-manx-tenant", 0],
  ["x-request-id", 0],
] as const;

describe("what a header is to the gateway", () => {
  it.each(KNOWN)("%s: the same in any case, asked once or again", (name, kind) => {
    fc.assert(
      fc.property(anyCase(name), (written) => {
        expect([headerKind(written), headerKind(written)]).toEqual([kind, kind]);
      }),
    );
  });

  it("does not change once more names have come than are remembered", () => {
    for (let i = 0; i < 2_000; i += 1) {
      expect(headerKind(`x-other-${i}`)).toBe(0);
      expect(headerKind(`x-manx-other-${i}`)).toBe(kinds.OWN);
    }
    for (const [name, kind] of KNOWN) {
      for (const written of [name, name.toUpperCase(), `${name[0]!.toUpperCase()}${name.slice(1)}`])
        expect(headerKind(written)).toBe(kind);
    }
  });
});
