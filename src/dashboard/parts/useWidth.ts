import type { RefObject } from "preact";
import { useLayoutEffect, useState } from "preact/hooks";

/** The width of an element in pixels, which changes with the window. */
export function useWidth(of: RefObject<HTMLElement | null>): number {
  const [width, setWidth] = useState(0);
  useLayoutEffect(() => {
    const element = of.current;
    if (element === null) return undefined;
    setWidth(Math.floor(element.clientWidth));
    const observer = new ResizeObserver(() => setWidth(Math.floor(element.clientWidth)));
    observer.observe(element);
    return () => observer.disconnect();
  }, [of]);
  return width;
}

/** `light` or `dark`: what is drawn on a canvas is drawn anew when the system's theme changes. */
export function useScheme(): "light" | "dark" {
  const query = window.matchMedia("(prefers-color-scheme: dark)");
  const [dark, setDark] = useState(query.matches);
  useLayoutEffect(() => {
    const changed = () => setDark(query.matches);
    query.addEventListener("change", changed);
    return () => query.removeEventListener("change", changed);
  }, []);
  return dark ? "dark" : "light";
}
