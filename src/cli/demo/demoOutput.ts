import type { Screen } from "../cli.ts";
import { type DemoView, type Note, plainNote, plainProgress, renderDemo } from "./renderDemo.ts";

/** Where the demo is shown: a screen that is drawn over, or plain lines where that cannot be. */
export interface DemoOutput {
  note(note: Note): void;
  /** Leaves the last picture as it is; what follows begins below it. May be called again. */
  end(): Promise<void>;
}

/** Eight pictures a second look alive and cost next to nothing. */
const drawEveryMs = 125;
const plainEveryMs = 3_000;

export function demoOutput(screen: Screen, view: () => DemoView): DemoOutput {
  return screen.isTty ? drawn(screen, view) : plain(screen, view);
}

function plain(screen: Screen, view: () => DemoView): DemoOutput {
  const timer = setInterval(() => {
    if (view().to !== undefined) void screen.write(`      ${plainProgress(view())}\n`);
  }, plainEveryMs);
  return {
    note: (note) => void screen.write(`${plainNote(note)}\n`),
    end: async () => clearInterval(timer),
  };
}

const showCursor = "\u001b[?25h";
const hideCursor = "\u001b[?25l";

function drawn(screen: Screen, view: () => DemoView): DemoOutput {
  let linesAbove = 0;
  let ended = false;
  const draw = () => {
    const lines = renderDemo(view(), screen);
    const up = linesAbove === 0 ? "" : `\u001b[${linesAbove}F`;
    linesAbove = lines.length;
    // Each line is cleared after its text and not before, so that nothing flickers.
    return screen.write(`${hideCursor}${up}${lines.map((line) => `${line}\u001b[K\n`).join("")}\u001b[J`);
  };
  const timer = setInterval(() => void draw(), drawEveryMs);
  // However the process ends, the terminal gets its cursor back.
  const restore = () => process.stdout.write(showCursor);
  process.once("exit", restore);
  void draw();
  return {
    note: () => undefined,
    async end() {
      if (ended) return;
      ended = true;
      clearInterval(timer);
      await draw();
      process.off("exit", restore);
      await screen.write(showCursor);
    },
  };
}
