import { createContext, type RefObject } from "preact";
import { useContext, useLayoutEffect, useState } from "preact/hooks";

/** The width of what is drawn before it is measured; a report, which nothing measures, gives its own. */
export const DrawnWidth = createContext(0);

/** The width of an element in pixels, which changes with the window. */
export function useWidth(of: RefObject<HTMLElement | null>): number {
  const [width, setWidth] = useState(useContext(DrawnWidth));
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
