import type { JSX } from "preact";
import { useEffect, useRef, useState } from "preact/hooks";
import { key, usePoll } from "../data/hooks.ts";
import { OverviewPage } from "../overview/overviewPage.tsx";
import { Announcer } from "../parts/announce.tsx";
import { Empty } from "../parts/parts.tsx";
import { hashOf, parseRoute, type Route } from "../route.ts";
import { RunPage } from "../run/runPage.tsx";
import { RunsView } from "../runs/runsView.tsx";
import { SchedulesPage } from "../schedules/schedulesPage.tsx";
import { SubmitPage } from "../submit/submitPage.tsx";
import { SystemPage } from "../system/systemPage.tsx";
import { KeyEntry } from "./keyEntry.tsx";

/** The frame of every view: navigation, the key, and the view that the address names. */
export function App(): JSX.Element {
  const route = useRoute();
  const held = useKey();
  const instance = usePoll<Instance>(held === undefined ? undefined : "instance", () => undefined);
  const readOnly = instance.value?.readOnly;
  const main = useRef<HTMLElement>(null);
  // A new view begins at its heading, for the eye and for the keyboard.
  const place = held === undefined ? "key" : placeOf(route);
  const first = useRef(true);
  useEffect(() => {
    document.title = `${titleOf(route)} · Leasefold`;
    if (first.current) first.current = false;
    else main.current?.querySelector<HTMLElement>("h1")?.focus();
  }, [place]);
  return (
    <>
      <button type="button" class="skip" onClick={() => main.current?.focus()}>
        Skip to the content
      </button>
      <Top route={route} readOnly={readOnly} />
      <main id="main" ref={main} tabIndex={-1}>
        {held === undefined ? (
          <KeyEntry refused={key.refused} />
        ) : (
          <View key={place} route={route} readOnly={readOnly} />
        )}
      </main>
      {held === undefined ? null : <Foot instance={instance.value} />}
      <Announcer />
    </>
  );
}

/** Until the app has said that it may be changed, `readOnly` is undefined and nothing is offered that changes it. */
function View(of: { readonly route: Route; readonly readOnly: boolean | undefined }): JSX.Element {
  const { route, readOnly } = of;
  switch (route.view) {
    case "overview":
      return <OverviewPage since={route.since} readOnly={readOnly} />;
    case "runs":
      return <RunsView route={route} readOnly={readOnly} />;
    case "run":
      return <RunPage route={route} readOnly={readOnly ?? true} />;
    case "system":
      return <SystemPage queue={route.queue} />;
    case "schedules":
      return <SchedulesPage />;
    case "submit":
      return <SubmitPage route={route} readOnly={readOnly} />;
    default:
      return (
        <>
          <div class="title-row">
            <h1 tabIndex={-1}>Not found</h1>
          </div>
          <Empty title="There is no such page">
            <p>
              <a href={hashOf({ view: "runs" })}>Show all runs</a>
            </p>
          </Empty>
        </>
      );
  }
}

function Top(of: { readonly route: Route; readonly readOnly: boolean | undefined }): JSX.Element {
  const { view } = of.route;
  const link = (text: string, to: Exclude<Route, { view: "unknown" }>, current: boolean) => (
    <a href={hashOf(to)} {...(current ? { "aria-current": "page" as const } : {})}>
      {text}
    </a>
  );
  return (
    <header class="top">
      <a class="brand" href={hashOf({ view: "overview" })}>
        <svg viewBox="0 0 20 20" width="18" height="18" aria-hidden="true">
          <path d="M2 4h7v5H2zM2 11h7v5H2zM11 4h7v12h-7z" />
        </svg>
        Leasefold
      </a>
      <nav aria-label="Main">
        {link("Overview", { view: "overview" }, view === "overview")}
        {link("Runs", { view: "runs" }, view === "runs" || view === "run")}
        {link("Schedules", { view: "schedules" }, view === "schedules")}
        {link("System", { view: "system" }, view === "system")}
      </nav>
      <span class="grow" />
      {of.readOnly === true ? <span class="chip">Read-only</span> : null}
      {of.readOnly === false ? (
        <a
          class="button primary"
          href={hashOf({ view: "submit" })}
          {...(view === "submit" ? { "aria-current": "page" as const } : {})}
        >
          New run
        </a>
      ) : null}
    </header>
  );
}

/** The answer of the route `instance`. */
interface Instance {
  readonly version: string;
  readonly instance: string;
  readonly readOnly: boolean;
}

function Foot({ instance }: { readonly instance: Instance | undefined }): JSX.Element {
  return (
    <footer class="foot">
      <span>
        {instance === undefined ? "" : `Leasefold ${instance.version}, answered by ${instance.instance}`}
      </span>
      <span class="grow" />
      {key.key === "" ? null : <HeldKey />}
    </footer>
  );
}

function HeldKey(): JSX.Element {
  return (
    <>
      <span>{key.kept ? "Key kept for this tab" : "Key in memory"}</span>
      {key.kept ? null : (
        <button type="button" class="quiet" onClick={() => key.set(key.key ?? "", true)}>
          Keep for this tab
        </button>
      )}
      <button type="button" class="quiet" onClick={() => key.forget()}>
        Forget key
      </button>
    </>
  );
}

function useRoute(): Route {
  const [hash, setHash] = useState(location.hash);
  useEffect(() => {
    const changed = () => setHash(location.hash);
    window.addEventListener("hashchange", changed);
    return () => window.removeEventListener("hashchange", changed);
  }, []);
  return parseRoute(hash);
}

function useKey(): string | undefined {
  const [, setChanges] = useState(0);
  useEffect(() => key.subscribe(() => setChanges((changes) => changes + 1)), []);
  return key.key;
}

/** Which view it is; a selection within it is the same place. */
const placeOf = (route: Route): string => (route.view === "run" ? `run ${route.run}` : route.view);

function titleOf(route: Route): string {
  if (route.view === "run") return route.run;
  if (route.view === "submit") return "New run";
  return route.view === "unknown" ? "Not found" : `${route.view[0]?.toUpperCase()}${route.view.slice(1)}`;
}
