/**
 * A gateway in a process of its own, for faults that may not touch the test's: few file descriptors, hostile bytes. Prints
 * its address, and answers each line on its input with what it holds; ends with its input.
 *
 *     node --import tsx test/support/fault-child.ts '{"upstream":"http://127.0.0.1:1","limits":{}}'
 */
import { createInterface } from "node:readline";
import { type GatewayOptions, startGateway } from "../../src/gateway/index.ts";

const gateway = await startGateway(JSON.parse(process.argv[2]!) as GatewayOptions);
const say = (value: object): void => {
  process.stdout.write(`${JSON.stringify(value)}\n`);
};
say({ url: gateway.url });
for await (const _ of createInterface({ input: process.stdin })) {
  const { open, idle } = gateway.connections();
  say({
    inFlight: gateway.inFlight(),
    busy: open - idle,
    timers: process.getActiveResourcesInfo().filter((name) => name === "Timeout").length,
    rssMb: Math.round(process.memoryUsage.rss() / 2 ** 20),
  });
}
await gateway.close();
