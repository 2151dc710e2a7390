import { render } from "preact";
import { key } from "./data/hooks.ts";
import { opensWithoutKey } from "./data/key.ts";
import { takeToken } from "./route.ts";
import { App } from "./shell/app.tsx";
import "./styles/styles.css";

/** A key that the address brings, at the start or into an open page, leaves it before anything else happens. */
function takeKey(): void {
  const { token, rest } = takeToken(location.hash);
  if (rest !== location.hash) history.replaceState(null, "", rest);
  if (token !== undefined) key.set(token, false);
}
takeKey();
window.addEventListener("hashchange", takeKey);

if (key.key === undefined && (await opensWithoutKey(document.baseURI, window.fetch.bind(window))))
  key.set("", false);

const root = document.getElementById("app");
if (root !== null) render(<App />, root);
