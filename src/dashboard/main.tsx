import { render } from "preact";
import { key } from "./data/hooks.ts";
import { takeToken } from "./route.ts";
import { App } from "./shell/app.tsx";
import "./look/look.css";

/** The key of this start, if the address brought one, leaves the address before anything else happens. */
const { token, rest } = takeToken(location.hash);
if (rest !== location.hash) history.replaceState(null, "", rest);
if (token !== undefined) key.set(token, false);

const root = document.getElementById("app");
if (root !== null) render(<App />, root);
