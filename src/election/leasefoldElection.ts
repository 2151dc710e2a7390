/**
 * What `import … from "leasefold/election"` gives: leader election on Azure Blob Storage and nothing else of
 * Leasefold. See docs/ELECTION.md for what it promises and what it does not.
 */
export {
  ConfigError,
  CorruptDataError,
  InputError,
  LeasefoldError,
  OtherVersionError,
  StorageError,
} from "../engine/model/errors.ts";
export type { BlobConnection, ElectionLocation as ElectionPlace } from "./api/electionPorts.ts";
export { type Leader, type LeadOptions, type LeadResult, lead } from "./api/lead.ts";
export { type ObservedTerm, type ObserveOptions, observe } from "./api/observe.ts";
export { TermOvertaken, type TermState } from "./api/termState.ts";
export type { ElectionEvent } from "./events.ts";
export { LostLeadership } from "./hold/leadership.ts";
export type { Content, NextContent } from "./leases/contents.ts";
export {
  type AcquireOutcome,
  type LeaseEvent,
  type Leases,
  type LeasesOptions,
  leases,
} from "./leases/leases.ts";
export { type LeaseEnd, LeaseLost, type NamedLease } from "./leases/namedLease.ts";
export type { RenewalStats } from "./leases/renewals.ts";
export type { CurrentLeader } from "./record/leaderView.ts";
export type { CameBy, EndCause } from "./record/record.ts";
export { type ElectionSettings, fastTakeover } from "./settings.ts";
