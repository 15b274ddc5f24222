import { mkdtemp, readFile, rename, rm, symlink, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { SimClock } from "../clock/index.ts";
import { ManxError, US_PER_S } from "../core/index.ts";
import { ConfigWatch, stampOf } from "./config-watch.ts";

let folder = "";
let path = "";
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), "manx-watch-"));
  path = join(folder, "file");
  await writeFile(path, "1");
});
afterEach(() => rm(folder, { recursive: true }));

interface World {
  readonly watch: ConfigWatch<string>;
  readonly seen: string[];
  /** Lets a number of seconds pass, with the file system's answers in between. */
  pass(seconds: number): Promise<void>;
}

async function watching(load = () => readFile(path, "utf8"), paths = () => [path]): Promise<World> {
  const clock = new SimClock();
  const seen: string[] = [];
  const checked = async (): Promise<string> => {
    const text = await load();
    if (text === "bad") throw new ManxError("MANX_CONFIG_SYNTAX", { where: "file:1:1" });
    return text;
  };
  const watch = new ConfigWatch(
    {
      paths,
      load: checked,
      clock,
      onChange: (text) => seen.push(text),
      onError: (error) => seen.push(`${error.code} ${error.where}`),
    },
    await stampOf(paths()),
  );
  const pass = async (seconds: number): Promise<void> => {
    for (let i = 0; i < seconds; i += 1) {
      await clock.run(clock.nowUs() + US_PER_S);
      // The next look is planned once this one's stat is back.
      for (let turn = 0; turn < 500 && clock.pending === 0; turn += 1) {
        await new Promise((resolve) => setTimeout(resolve, 1));
      }
    }
  };
  return { watch, seen, pass };
}

describe("a watched configuration", () => {
  it("is read again once it is changed and still", async () => {
    const { watch, seen, pass } = await watching();
    await pass(3);
    expect(seen).toEqual([]);
    await writeFile(path, "2");
    await pass(1);
    expect(seen).toEqual([]);
    await pass(1);
    expect(seen).toEqual(["2"]);
    await pass(3);
    expect([seen, watch.counts]).toEqual([["2"], { loaded: 1, failed: 0 }]);
    watch.stop();
  });

  it("is followed to the files that it names, and once more for what they were meanwhile", async () => {
    const [first, second] = [join(folder, "first"), join(folder, "second")];
    await Promise.all([writeFile(first, "a"), writeFile(second, "b"), writeFile(path, first)]);
    let named = first;
    const load = async (): Promise<string> => {
      named = await readFile(path, "utf8");
      return readFile(named, "utf8");
    };
    const { watch, seen, pass } = await watching(load, () => [path, named]);
    await writeFile(path, second);
    await pass(5);
    expect(seen).toEqual(["b", "b"]);
    await writeFile(second, "c");
    await pass(3);
    expect(seen).toEqual(["b", "b", "c"]);
    await writeFile(first, "nobody looks");
    await pass(3);
    expect(seen).toHaveLength(3);
    watch.stop();
  });

  it("stays as it was when it is broken or gone, tells so once, and recovers", async () => {
    const { watch, seen, pass } = await watching();
    await writeFile(path, "bad");
    await pass(4);
    expect(seen).toEqual(["MANX_CONFIG_SYNTAX file:1:1"]);
    await rm(path);
    await pass(4);
    expect([seen.length, seen[1]]).toEqual([2, expect.stringContaining("MANX_INTERNAL")]);
    await writeFile(path, "3");
    await pass(2);
    expect([seen[2], watch.counts]).toEqual(["3", { loaded: 1, failed: 2 }]);
    watch.stop();
  });

  it("is seen when it is replaced, and when a link to it is swapped", async () => {
    const first = join(folder, "first");
    await rename(path, first);
    await symlink(first, path);
    const { watch, seen, pass } = await watching();
    const second = join(folder, "second");
    await writeFile(second, "2");
    await symlink(second, join(folder, "link"));
    await rename(join(folder, "link"), path);
    await pass(2);
    expect(seen).toEqual(["2"]);
    watch.stop();
  });

  it("is read when it is asked for, once more if asked while reading, and never after the stop", async () => {
    let reads = 0;
    const { watch, seen } = await watching(() => {
      reads += 1;
      return Promise.resolve(String(reads));
    });
    await Promise.all([watch.reload(), watch.reload(), watch.reload()]);
    expect(seen).toEqual(["1", "2"]);
    const last = watch.reload();
    watch.stop();
    await last;
    await watch.reload();
    expect(seen).toEqual(["1", "2"]);
  });
});
