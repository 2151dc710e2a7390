import type { JSX } from "preact";
import { useEffect, useState } from "preact/hooks";

/** One line for everybody: shown for some seconds at the edge of the page, and read out by screen readers. */
let show: (text: string) => void = () => {};

export const announce = (text: string): void => show(text);

const shownMs = 5_000;

export function Announcer(): JSX.Element {
  const [said, setSaid] = useState({ text: "", number: 0 });
  useEffect(() => {
    show = (text) => setSaid(({ number }) => ({ text, number: number + 1 }));
    return () => {
      show = () => {};
    };
  }, []);
  useEffect(() => {
    if (said.text === "") return undefined;
    const timer = window.setTimeout(() => setSaid(({ number }) => ({ text: "", number })), shownMs);
    return () => window.clearTimeout(timer);
  }, [said]);
  return (
    <div class={said.text === "" ? "announcer" : "announcer shown"} role="status">
      {said.text}
    </div>
  );
}
