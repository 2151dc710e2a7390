import { type CallName, type Fate, fates, type Weather } from "../../support/network.ts";
import { recordIn } from "../../support/recordIn.ts";
import type { VirtualWorld } from "../../support/virtualClock.ts";
import type { Actor, Stage } from "./stage.ts";

/** A way that can be cut off, wholly or in part, on top of the trouble that any call may meet. */
export interface Storm extends Weather {
  calm: boolean;
  cut: "nothing" | "requests" | "replies" | "heartbeats" | "renewals";
}

/** `trouble`: chance that a call is not an ordinary one. Dying and stopping in the middle of a call is rarer. */
export function storm(world: VirtualWorld, trouble: number): Storm {
  const { random } = world;
  const cutOff = (call: CallName, cut: Storm["cut"]): boolean =>
    cut === "requests" ||
    (cut === "heartbeats" && call === "write leading") ||
    (cut === "renewals" && call === "renew");
  const self: Storm = {
    calm: false,
    cut: "nothing",
    fateOf(call): Fate {
      if (self.calm) return "arrives";
      if (cutOff(call, self.cut)) return "hangs";
      if (self.cut === "replies") return "hangs after";
      if (random.number() >= trouble) return "arrives";
      const fate = fates[Math.floor(random.number() * fates.length)] ?? "arrives";
      const drastic = fate.startsWith("stops") || fate.startsWith("dies");
      return drastic && random.number() < 0.7 ? "arrives" : fate;
    },
  };
  return self;
}

export interface Scene extends Stage<Storm> {
  readonly container: string;
  readonly blob: string;
  /** Records as they were at some time, for an operator who brings one back. */
  readonly oldRecords: Readonly<Record<string, string>>[];
}

type Victim = Actor<Storm>;
type Mishap = (victim: Victim, scene: Scene) => Promise<void> | void;

/** Chance out of all, and what happens. */
const mishaps: ReadonlyArray<readonly [number, Mishap]> = [
  [26, (victim) => victim.die()],
  [20, (victim, { world }) => victim.stopFor(300 + world.random.number() * 25_000)],
  [6, (victim, { world }) => victim.stopFor(2_000 + world.random.number() * 15_000, true)],
  [8, (victim, scene) => cutFor(victim, "requests", scene)],
  [7, (victim, scene) => cutFor(victim, "replies", scene)],
  [6, (victim, scene) => cutFor(victim, "heartbeats", scene)],
  [4, (victim, scene) => cutFor(victim, "renewals", scene)],
  [5, terminate],
  [5, (victim, { world }) => victim.clock.jumpWall((world.random.number() - 0.5) * 7_200_000)],
  [4, breakByHand],
  [2, deleteBlob],
  [2, deleteContainer],
  [2, rollBack],
];

/** `losesTime` instances have a wall clock that can be trusted: one of the two clocks is always right. */
export async function strike(
  victim: Victim,
  scene: Scene,
  trustedClock: "wall" | "monotonic",
): Promise<void> {
  const all = mishaps.reduce((sum, [weight]) => sum + weight, 0);
  let draw = scene.world.random.number() * all;
  for (const [index, [weight, happen]] of mishaps.entries()) {
    draw -= weight;
    if (draw > 0) continue;
    const losesTime = index === 2;
    const jumps = index === 8;
    if ((losesTime && trustedClock !== "wall") || (jumps && trustedClock !== "monotonic"))
      return victim.die();
    return happen(victim, scene);
  }
}

function terminate(victim: Victim, scene: Scene): void {
  if (victim.isStopped()) return;
  victim.terminate();
  scene.replace(victim);
}

function cutFor(victim: Victim, cut: Storm["cut"], { world, service }: Scene): void {
  victim.weather.cut = cut;
  service.after(2_000 + world.random.number() * 22_000, () => {
    victim.weather.cut = "nothing";
  });
}

const isThere = ({ storage, container, blob }: Scene): boolean =>
  storage.operator.blobNames(container).includes(blob);

function breakByHand(_: unknown, scene: Scene): void {
  if (!isThere(scene)) return;
  scene.checkers.operatorActed();
  try {
    scene.storage.operator.breakLease(scene.container, scene.blob);
  } catch {
    // There was no lease to break.
  }
}

function deleteBlob(_: unknown, scene: Scene): void {
  if (!isThere(scene)) return;
  scene.checkers.operatorActed(0);
  scene.storage.operator.deleteBlob(scene.container, scene.blob);
}

function deleteContainer(_: unknown, scene: Scene): void {
  scene.checkers.operatorActed(0);
  scene.storage.operator.deleteContainer(scene.container);
}

/** The blob as it was some time ago, brought back from a copy: an older term, and no lease. */
async function rollBack(_: unknown, scene: Scene): Promise<void> {
  const { storage, container, blob, oldRecords, world } = scene;
  const metadata = oldRecords[Math.floor(world.random.number() * oldRecords.length)];
  if (metadata === undefined || !isThere(scene)) return;
  scene.checkers.operatorActed(recordIn(metadata).term);
  storage.operator.deleteBlob(container, blob);
  await storage.blobs.create(container, blob, "", { metadata });
}
