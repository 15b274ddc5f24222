/** The stage in a thread of its own: another core plays the two ends, and code that both need is compiled for each alone. */
import { parentPort } from "node:worker_threads";
import { LocalStage, type Play } from "./local-stage.ts";

const stage = new LocalStage();
const port = parentPort!;
port.on("message", (word: Play | "stop") => {
  if (word === "stop") stage.stop();
  else void stage.play(word).then((played) => port.postMessage(played));
});
void stage.open().then((upstream) => port.postMessage(upstream));
