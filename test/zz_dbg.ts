import { stage } from "./sim/engine/stage.ts";
import { scriptOn } from "./sim/engine/script.ts";
import { platform } from "./sim/engine/scenarios/endless.ts";
import { isFinal } from "../src/model/state.ts";
import { traces } from "./support/trace.ts";
await traces.run(((e: any) => { const t = JSON.stringify(e); if (/workers\/|failed\/|killed|00000020|again=|"again":[1-9]|claimed/.test(t)) console.log(t.replace(/"spec\\*":\\*"[0-9a-f]+\\*",/,"").slice(0, 260)); }) as any, async () => {
  const script = scriptOn(stage({ seed: 5, chunkMs: () => 1000, calm: true }));
  const { world, engine, run } = script;
  const dies = ({ kind, from }: any): boolean => kind === "compute" && from === 20;
  script.broken.doom = (task: any) => (dies(task) ? "kills" : undefined);
  platform(script, 4, { breakAfterMs: 4_000 });
  await script.submit({ id: "r", chunks: 60, packSize: 1 });
  await world.until(() => isFinal(run()?.state?.phase ?? "planning"), 3 * 3_600_000);
  console.log(world.nowMs(), run()?.state?.error?.message);
});
