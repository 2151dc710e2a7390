import { describe, expect, it } from "vitest";
import { StorageError } from "../../src/engine/model/errors.ts";
import { failureOf, storageErrorOfCode, withOutcomes } from "../../src/engine/storage/storageErrors.ts";

/** An error in the shape of the SDKs' own. */
function restError(fields: { statusCode?: number; code?: string; header?: string }): Error {
  const { header, ...rest } = fields;
  const error = Object.assign(new Error("from the SDK"), rest);
  error.name = "RestError";
  const headers = { get: (name: string) => (name === "x-ms-error-code" ? header : undefined) };
  return header === undefined ? error : Object.assign(error, { response: { headers } });
}

const mapped = (error: unknown): StorageError => {
  const failure = failureOf(error, "blob", "Put Blob c/b", undefined);
  expect(failure).toBeInstanceOf(StorageError);
  return failure as StorageError;
};

describe("a vendor's error", () => {
  const byAnswer: [number | undefined, string, StorageError["kind"]][] = [
    [408, "RequestTimeout", "busy"],
    [429, "TooManyRequests", "busy"],
    [500, "InternalError", "busy"],
    [500, "OperationTimedOut", "busy"],
    [502, "", "busy"],
    [503, "ServerBusy", "busy"],
    [409, "ContainerBeingDeleted", "busy"],
    [409, "QueueBeingDeleted", "busy"],
    [200, "PARSE_ERROR", "busy"],
    [undefined, "REQUEST_SEND_ERROR", "busy"],
    [undefined, "ECONNREFUSED", "busy"],
    [401, "NoAuthenticationInformation", "denied"],
    [403, "AuthorizationPermissionMismatch", "denied"],
    [400, "InvalidHeaderValue", "refused"],
    [404, "ContainerNotFound", "refused"],
    [404, "", "refused"],
    [409, "LeaseAlreadyPresent", "refused"],
    [412, "ConditionNotMet", "refused"],
    [413, "RequestBodyTooLarge", "refused"],
  ];
  it.each(byAnswer)("with status %s and code %s is %s, %s", (statusCode, code, kind) => {
    const error = mapped(restError({ code, ...(statusCode === undefined ? {} : { statusCode }) }));
    expect(error).toMatchObject({ kind, status: statusCode, retry: kind === "busy" ? "later" : "never" });
    expect(error.storageCode).toBe(statusCode === undefined ? "" : code);
  });

  it("gives its code in the header where there is no body", () => {
    const error = mapped(restError({ statusCode: 404, code: "RestError", header: "BlobNotFound" }));
    expect(error).toMatchObject({ storageCode: "BlobNotFound", kind: "refused" });
  });

  it.each(["ECONNRESET", "EPIPE", "ENOTFOUND", "ETIMEDOUT", "ERR_STREAM_PREMATURE_CLOSE"])(
    "of the system, such as %s, is busy",
    (code) => {
      const error = mapped(Object.assign(new Error("socket"), { code }));
      expect(error).toMatchObject({ kind: "busy", storageCode: "", status: undefined });
      expect(error.message).toContain(code);
    },
  );

  it("keeps its cause, and says what was tried", () => {
    const cause = restError({ statusCode: 412, code: "ConditionNotMet" });
    const error = mapped(cause);
    expect(error.cause).toBe(cause);
    expect(error.message).toBe("Put Blob c/b: ConditionNotMet, status 412");
  });

  it("of the identity is denied, and names the role", () => {
    const cause = Object.assign(new Error("no managed identity"), { name: "CredentialUnavailableError" });
    const failure = failureOf(cause, "queue", "Put Message q", undefined) as StorageError;
    expect(failure).toMatchObject({ kind: "denied", status: 401 });
    expect(failure.message).toContain('"Storage Queue Data Contributor" on that queue');
    expect(failure.message).not.toContain("account");
    expect(failure.message).toContain("no managed identity");
  });

  it("of an identity endpoint that is overloaded is busy", () => {
    const cause = Object.assign(new Error("slow down"), { name: "AuthenticationError", statusCode: 429 });
    expect(mapped(cause)).toMatchObject({ kind: "busy", status: 429 });
  });

  it("says that a key was not accepted", () => {
    expect(storageErrorOfCode("blob", "AuthenticationFailed", 403, "List").message).toContain("key or token");
  });
});

describe("an abort", () => {
  const aborted = Object.assign(new Error("aborted"), { name: "AbortError" });

  it("by the caller stays an AbortError, whatever the reason of the signal", () => {
    const failure = failureOf(aborted, "blob", "Get Blob", AbortSignal.abort(new Error("tired")));
    expect(failure).not.toBeInstanceOf(StorageError);
    expect(failure).toMatchObject({ name: "AbortError" });
  });

  it("by our own cap is busy", () => {
    const failure = failureOf(aborted, "blob", "Get Blob", new AbortController().signal);
    expect(failure).toMatchObject({ kind: "busy", message: "Get Blob did not end in time: no answer" });
  });
});

describe("a bug", () => {
  it.each([
    new TypeError("x is not a function"),
    Object.assign(new Error("bad"), { code: "ERR_INVALID_CHAR" }),
  ])("passes through as it is: %s", (error) => {
    expect(failureOf(error, "blob", "Put Blob", undefined)).toBe(error);
  });
});

describe("an expected outcome", () => {
  it("stands for its code alone", async () => {
    const fail = (code: string) => Promise.reject(storageErrorOfCode("blob", code, 409, ""));
    const outcomes = { BlobAlreadyExists: "existed" } as const;
    expect(await withOutcomes(fail("BlobAlreadyExists"), outcomes)).toBe("existed");
    await expect(withOutcomes(fail("LeaseIdMissing"), outcomes)).rejects.toBeInstanceOf(StorageError);
    await expect(withOutcomes(fail("constructor"), outcomes)).rejects.toBeInstanceOf(StorageError);
  });
});
