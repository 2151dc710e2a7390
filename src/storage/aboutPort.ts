/** What a storage service says of itself, for diagnosis. */
export interface AboutService {
  facts(): Promise<ServiceFacts>;
  /** Whether the account keeps versions of blobs; undefined where that blob is not there or may not be read. */
  versioned(container: string, name: string): Promise<boolean | undefined>;
}

/** All but `server` absent where the identity may not ask. */
export interface ServiceFacts {
  readonly dateMs?: number;
  /** Such as `Azurite-Blob/3.37.0`; empty where it says nothing. */
  readonly server: string;
  /** 0 where deleted blobs are not kept. */
  readonly softDeleteDays?: number;
}
