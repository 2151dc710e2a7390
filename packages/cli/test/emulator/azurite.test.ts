import { type ChildProcess, spawn } from "node:child_process";
import { subscribe, unsubscribe } from "node:diagnostics_channel";
import { once } from "node:events";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { systemClock } from "../../../../src/engine/storage/system.ts";
import { freshContainer, ofKind, realAccount, textOf } from "../../../../test/contract/accounts.ts";
import { startAzurite } from "../../local/azurite.ts";
import { newAccount } from "../../local/storageAccount.ts";

const answers = (port: number): Promise<boolean> =>
  fetch(`http://127.0.0.1:${port}/`).then(
    () => true,
    () => false,
  );

describe("the emulator", () => {
  it("keeps its data in a folder over a restart, and can be stopped twice", async () => {
    const location = await mkdtemp(join(tmpdir(), "azurite-"));
    const account = newAccount();
    const first = await startAzurite({ location, account });
    const before = realAccount(first.connectionString);
    const container = await freshContainer(before);
    await before.storage.blobs.create(container, "b", "kept");
    await first.stop();
    await first.stop();
    const second = await startAzurite({ location, account });
    const read = await realAccount(second.connectionString).storage.blobs.read(container, "b");
    expect(textOf(ofKind(read, "found").body)).toBe("kept");
    await second.stop();
    await rm(location, { recursive: true });
  });

  it("ends by itself when it is stopped, with connections open and with its data saved", async () => {
    const started = Promise.withResolvers<ChildProcess>();
    const hear = (message: unknown) => started.resolve((message as { process: ChildProcess }).process);
    subscribe("child_process", hear);
    const location = await mkdtemp(join(tmpdir(), "azurite-"));
    const emulator = await startAzurite({ location });
    unsubscribe("child_process", hear);
    await (await fetch(`http://127.0.0.1:${emulator.blobPort}/`)).text();
    await emulator.stop();
    const { exitCode, signalCode } = await started.promise;
    expect({ exitCode, signalCode }).toEqual({ exitCode: 0, signalCode: null });
    await rm(location, { recursive: true });
  });

  it("says why it did not start, when its port is taken", async () => {
    const first = await startAzurite();
    const second = startAzurite({ ports: { blob: first.blobPort } });
    await expect(second).rejects.toMatchObject({
      code: "azurite-start",
      message: expect.stringContaining("EADDRINUSE"),
    });
    await first.stop();
  });

  it("ends with a parent that is killed", async () => {
    const module = new URL("../../local/azurite.ts", import.meta.url).href;
    const script = `
      const { startAzurite } = await import(${JSON.stringify(module)});
      console.log((await startAzurite()).blobPort);
    `;
    const parent = spawn(process.execPath, ["--input-type=module", "-e", script], {
      stdio: ["ignore", "pipe", "inherit"],
    });
    const [line] = (await once(parent.stdout, "data")) as [Buffer];
    const port = Number(line.toString());
    expect(await answers(port)).toBe(true);
    parent.kill("SIGKILL");
    const deadlineMs = performance.now() + 10_000;
    while ((await answers(port)) && performance.now() < deadlineMs) await systemClock.sleep(100);
    expect(await answers(port)).toBe(false);
  });
});
