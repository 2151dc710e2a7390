/**
 * The typed values in which the Functions host and its language worker exchange inputs and outputs: exactly one
 * member is set. Only what the embedded host sends or understands is listed.
 */
export interface TypedData {
  readonly json?: string;
  readonly string?: string;
  readonly int?: number;
  readonly double?: number;
  readonly bytes?: Uint8Array;
  readonly http?: HttpData;
}

type Nullable = { readonly value: string };

export interface HttpData {
  readonly method?: string;
  readonly url?: string;
  readonly nullableHeaders?: Readonly<Record<string, Nullable>>;
  readonly nullableQuery?: Readonly<Record<string, Nullable>>;
  readonly nullableParams?: Readonly<Record<string, Nullable>>;
  readonly body?: TypedData;
  /** A number as text. */
  readonly statusCode?: string;
  readonly headers?: Readonly<Record<string, string>>;
  readonly cookies?: readonly unknown[];
}

export const jsonData = (value: unknown): TypedData => ({ json: JSON.stringify(value) });

/** A JSON value as the host hands it over: texts and whole numbers as they are, everything else as JSON. */
export function dataOf(value: unknown): TypedData {
  if (typeof value === "string") return { string: value };
  if (Number.isSafeInteger(value)) return { int: value as number };
  return jsonData(value);
}
