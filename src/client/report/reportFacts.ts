import type { Manifest } from "../../model/run.ts";
import type { Failures } from "../failures.ts";
import type { Durations } from "../inspection/durations.ts";
import type { PackMap } from "../inspection/packMap.ts";
import type { Timeline } from "../inspection/timeline.ts";
import type { RunView } from "../runView.ts";
import type { Preview } from "./preview.ts";

/** All that a report shows of a run. */
export interface ReportFacts {
  readonly view: RunView;
  readonly map: PackMap;
  readonly durations: Durations;
  readonly timeline: Timeline;
  readonly failures: Failures;
  readonly manifest: Manifest | undefined;
  readonly preview: Preview | undefined;
}
