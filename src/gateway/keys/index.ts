/** Virtual keys: made, kept by hash, checked, and what each has spent. */
export { BudgetKeeper, type BudgetStore } from "./budget-keeper.ts";
export {
  BudgetLedger,
  type CallDemand,
  type LedgerState,
  type Reservation,
  type Spending,
} from "./budget-ledger.ts";
export { changeKeyFile, readKeyFile } from "./key-file.ts";
export { type KeyRecord, keyRecordSchema } from "./key-record.ts";
export { type KeyHolder, KeyRing, refusedModel } from "./key-ring.ts";
export { costMicroUsd, type PriceTable, type TokensUsed } from "./price-table.ts";
export { carriesKey, newKey } from "./virtual-key.ts";
