import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { html, Markup, scriptJson } from "./markup.ts";

describe("a template", () => {
  it("escapes what is put in, once, and keeps what is markup", () => {
    const bold = html`<b>${"a < b & 'c'"}</b>`;
    expect(html`<p title="${'"x"'}">${bold}${[1, "<", bold]}</p>`.text).toBe(
      '<p title="&quot;x&quot;"><b>a &lt; b &amp; &#39;c&#39;</b>1&lt;<b>a &lt; b &amp; &#39;c&#39;</b></p>',
    );
  });

  it("leaves nothing where there is nothing, and keeps zero", () => {
    expect(html`${null}|${undefined}|${false}|${[]}|${0}|${""}`.text).toBe("||||0|");
  });

  it("lets no text out of an element or an attribute", () => {
    fc.assert(
      fc.property(fc.string({ unit: "binary" }), (text) => {
        expect(html`${text}`.text).not.toMatch(/[<>"']|&(?!(amp|lt|gt|quot|#39);)/);
      }),
    );
  });
});

it("JSON in a script reads back, whatever it holds, and cannot end the script", () => {
  fc.assert(
    fc.property(fc.jsonValue(), fc.string({ unit: "binary" }), (value, text) => {
      const data = { value, text: `${text}</script><!--\u2028` };
      const written = scriptJson(data);
      expect(written).toBeInstanceOf(Markup);
      expect(written.text).not.toMatch(/[<>&\u2028\u2029]/);
      expect(JSON.parse(written.text)).toEqual(JSON.parse(JSON.stringify(data)));
    }),
  );
});
