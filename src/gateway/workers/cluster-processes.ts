/**
 * Workers as processes of node:cluster. The supervisor takes the connections and hands each to a worker in turn, since
 * the system's own choice among processes that all listen leaves some of them idle; a worker that is busy takes none until
 * it has taken the last one.
 */
import cluster, { type Worker } from "node:cluster";
import type { IpcPort } from "./ipc-link.ts";
import type { WorkerProcess } from "./worker-process.ts";

/** Another process with the same command line. */
export function forkWorker(): WorkerProcess {
  cluster.schedulingPolicy = cluster.SCHED_RR;
  const worker = cluster.fork();
  // A channel that breaks is followed by the end of the process, which is what counts.
  worker.on("error", () => undefined);
  return {
    pid: worker.process.pid ?? 0,
    send: (message) => send(worker, message),
    onMessage: (listener) => void worker.on("message", listener),
    onExit: (listener) => void worker.once("exit", listener),
    kill: (signal) => void worker.process.kill(signal),
  };
}

function send(worker: Worker, message: object): void {
  if (worker.isConnected()) worker.send(message, () => undefined);
}

/** The worker's end of the channel. A supervisor that is gone is one that says goodbye: the worker leaves in good order. */
export function supervisorPort(): IpcPort {
  const { worker } = cluster;
  // Otherwise Node ends this process with all its requests when the supervisor is gone.
  if (worker !== undefined) worker.exitedAfterDisconnect = true;
  return {
    send: (message) => {
      if (process.connected) process.send?.(message, undefined, undefined, () => undefined);
    },
    onMessage: (listener) => {
      process.on("message", listener);
      process.once("disconnect", () => listener({ manx: "tell", name: "leave" }));
    },
  };
}

/** Nothing else holds a worker that has left. */
export function leaveSupervisor(): void {
  if (process.connected) process.disconnect();
}
