/**
 * A copy of a text that was cut from a file. V8 keeps all of the larger text alive for a part of it, so that a kept
 * key of ten letters would hold megabytes. Unpaired surrogates, which NDJSON can write and UTF-8 cannot, become U+FFFD.
 */
export const detached = (text: string): string => Buffer.from(text).toString();
