/** The bytes of `head` followed by `line` over and over. */
export function repeated(head: string, line: string): (from: number, piece: Uint8Array) => void {
  const first = Buffer.from(head);
  const many = Buffer.from(line.repeat(Math.ceil(65_536 / line.length)));
  return (from, piece) => {
    let at = 0;
    while (at < piece.length) {
      const place = from + at;
      const source =
        place < first.length ? first.subarray(place) : many.subarray((place - first.length) % many.length);
      const count = Math.min(source.length, piece.length - at);
      piece.set(source.subarray(0, count), at);
      at += count;
    }
  };
}
