/** Engines together: replicas or pools behind one door, and what happens to them beside the requests. */
export { checkFleet, describeFleet, engineConditions, type Fleet } from "./fleet.ts";
export { buildServing, type Serving, type ServingOptions } from "./serving.ts";
