import type { JSX } from "preact";
import { useEffect, useState } from "preact/hooks";
import { announce } from "./announce.tsx";

/** Copies a text and says so; where the browser refuses the clipboard, says that instead. */
export function CopyButton(of: {
  readonly text: string;
  readonly label: string;
  readonly what: string;
}): JSX.Element {
  const [copied, setCopied] = useState(false);
  useEffect(() => {
    if (!copied) return undefined;
    const timer = window.setTimeout(() => setCopied(false), 1_500);
    return () => window.clearTimeout(timer);
  }, [copied]);
  const copy = async (): Promise<void> => {
    try {
      await navigator.clipboard.writeText(of.text);
      setCopied(true);
      announce(`${of.what} copied`);
    } catch {
      announce("the browser does not allow copying here; select the text instead");
    }
  };
  return (
    <button
      type="button"
      class="quiet"
      onClick={() => void copy()}
      {...(of.label === "Copy" && !copied ? { "aria-label": `Copy ${of.what}` } : {})}
    >
      {copied ? "Copied" : of.label}
    </button>
  );
}
