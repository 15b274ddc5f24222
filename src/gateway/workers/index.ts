/** Several processes that serve one port: a supervisor that keeps them running, and the gateway that each of them is. */
export {
  forkWorker,
  leaveSupervisor,
  supervisorPort,
} from "./cluster-processes.ts";
export { errorFrom } from "./plain-error.ts";
export { Supervisor, type SupervisorOptions } from "./supervisor.ts";
export { type LoadConfig, runWorker, type Serving, type WorkerOptions } from "./worker.ts";
export { shareNotices, workerShare } from "./worker-share.ts";
