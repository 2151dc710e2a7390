import { createHash } from "node:crypto";

export const sha256Of = (bytes: Uint8Array | string): Buffer => createHash("sha256").update(bytes).digest();
