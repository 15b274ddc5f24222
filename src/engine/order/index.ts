/** Who is let in next: first come, priority, shortest uncached, fair share. */
export { ORDER_NAMES, type OrderName, type QueueOrder } from "./queue-order.ts";
