import { Socket } from "node:net";
import { startHttpServer } from "../../../../src/host/httpServer.ts";

/** Serves the connections that its parent hands over, with the limits of the first argument. */
const listener = await startHttpServer<"open" | "slow">({
  port: undefined,
  routePrefix: "api",
  routes: (["open", "slow"] as const).map((target) => ({
    ...{ target, methods: ["GET", "POST"], template: target },
  })),
  ...{ key: "key", keyHint: "" },
  isAnonymous: () => true,
  async serve(target) {
    if (target === "slow") await new Promise((done) => setTimeout(done, 2_000));
    return { status: 200, headers: target === "slow" ? { connection: "close" } : {} };
  },
  onFailure: () => undefined,
  limits: JSON.parse(process.argv[2] ?? "{}"),
});
process.on("message", (_message, handle) => {
  if (handle instanceof Socket) listener.accept(handle);
});
process.once("disconnect", () => process.exit());
process.send?.("ready");
