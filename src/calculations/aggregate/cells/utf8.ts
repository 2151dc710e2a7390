const encoder = new TextEncoder();

/** The text that was written last as UTF-8, in `bytes[0, length)`. An unpaired surrogate becomes U+FFFD. */
export const utf8 = {
  bytes: new Uint8Array(1024),
  length: 0,
  write(text: string): void {
    if (this.bytes.length < text.length * 3) this.bytes = new Uint8Array(text.length * 6);
    const { bytes } = this;
    this.length = text.length;
    for (let at = 0; at < text.length; at++) {
      const code = text.charCodeAt(at);
      if (code > 0x7f) {
        this.length = encoder.encodeInto(text, bytes).written;
        return;
      }
      bytes[at] = code;
    }
  },
};
