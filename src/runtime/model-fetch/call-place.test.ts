import { describe, expect, it } from "vitest";
import {
  CHAT_URL,
  call,
  chatBody,
  chatScript,
  fetchWorld,
  refusal,
} from "../../../test/support/fetch-world.ts";

describe("targets", () => {
  const spare = {
    name: "spare",
    baseURL: "https://spare.example.org/api/v1/",
    headers: () => ({ authorization: "Bearer spare-key" }),
    model: "mini",
  };

  it("are failed over to with their own address, key and model", async () => {
    const world = fetchWorld((__, number) => (number === 0 ? refusal(503) : chatScript(50)));
    call(world, world.manx({ targets: [{ name: "main" }, spare] }));
    await world.clock.run();
    const [first, second] = world.hits;
    expect(first!.headers.get("authorization")).toBe("Bearer caller-key");
    expect(second!.url.href).toBe("https://spare.example.org/api/v1/chat/completions");
    expect(second!.headers.get("authorization")).toBe("Bearer spare-key");
    expect(JSON.parse(second!.body)).toMatchObject({ model: "mini", stream: true });
    expect(world.records[0]!.attempts.map(({ cause }) => cause)).toEqual(["first", "failover"]);
  });

  it("of another origin never see the caller's key", async () => {
    const world = fetchWorld((__, number) => (number === 0 ? refusal(503) : chatScript(50)));
    const targets = [{ name: "main" }, { name: "other", baseURL: "https://other.example.org/v1" }];
    const own = ["Authorization", "x-goog-api-key", "ocp-apim-subscription-key", "cookie"];
    const headers = Object.fromEntries(own.map((name) => [name, "caller"]));
    call(world, world.manx({ targets }), { ...chatBody(), headers: { ...headers, "x-team": "a" } });
    await world.clock.run();
    const [first, second] = world.hits;
    expect(own.map((name) => first!.headers.get(name))).toEqual(own.map(() => "caller"));
    expect(second!.url.host).toBe("other.example.org");
    expect(own.map((name) => second!.headers.get(name))).toEqual(own.map(() => null));
    expect(second!.headers.get("x-team")).toBe("a");
  });

  it("show no secret in what fails", async () => {
    const secret = "sk-very\nsecret";
    const world = fetchWorld(() => chatScript(5));
    const targets = [{ ...spare, headers: () => ({ authorization: secret }) }];
    const seen = call(world, world.manx({ targets }));
    await world.clock.run();
    expect(world.hits).toHaveLength(0);
    expect(JSON.parse(seen.text)).toMatchObject({ error: { code: "MANX_SECRET_MISSING" } });
    expect(seen.text + JSON.stringify(world.records)).not.toContain("sk-very");
  });

  it("that cannot be are refused when the fetch is made", () => {
    const world = fetchWorld(() => chatScript(5));
    const made = (options: object) => () => world.manx(options);
    expect(made({ targets: [{ name: "x", baseURL: "sk-key" }] })).toThrow(
      expect.objectContaining({ code: "MANX_URL" }),
    );
    expect(made({ targets: [{ name: "" }] })).toThrow(
      expect.objectContaining({ code: "MANX_FLAG_VALUE" }),
    );
    expect(made({ policy: { retry: { attempts: 0 } } })).toThrow(
      expect.objectContaining({ code: "MANX_FLAG_VALUE" }),
    );
    expect(made({ policy: { timeouts: { headers: "9" } } })).toThrow(
      expect.objectContaining({ code: "MANX_DURATION" }),
    );
    expect(made({ targets: [{ name: "a" }, { name: "b" }, { name: "a" }] })).toThrow(
      expect.objectContaining({ code: "MANX_FLAG_VALUE", where: "targets[2].name" }),
    );
    expect(made({ targets: [{ name: 7 }] })).toThrow(
      expect.objectContaining({ code: "MANX_FLAG_VALUE", where: "targets[0]" }),
    );
    expect(made({ retries: "both" })).toThrow(expect.objectContaining({ code: "MANX_FLAG_VALUE" }));
  });
});

describe("a Manx gateway", () => {
  it("is told the deadline and makes the retries, where it is named", async () => {
    const world = fetchWorld(() => refusal(503));
    call(world, world.manx({ gateways: [CHAT_URL], deadline: "8s" }));
    await world.clock.run();
    expect(world.hits).toHaveLength(1);
    expect(world.hits[0]!.headers.get("x-manx-deadline-ms")).toBe("8000");
  });

  it("is known by its first answer", async () => {
    const answers = [{ ...chatScript(5), headers: { "x-manx-attempts": "1" } }];
    const world = fetchWorld((__, number) => answers[number] ?? refusal(503));
    const run = world.manx({ deadline: "8s" });
    call(world, run);
    await world.clock.run();
    call(world, run);
    await world.clock.run();
    expect(world.hits.map(({ headers }) => headers.get("x-manx-deadline-ms"))).toEqual([
      null,
      "8000",
    ]);
  });
});
