/** The known answers of Random123 for Threefry-4x32-20, file tests/kat_vectors: counter, key, answer. */
export const threefryAnswers: readonly [string, string, string][] = [
  [
    "00000000 00000000 00000000 00000000",
    "00000000 00000000 00000000 00000000",
    "9c6ca96a e17eae66 fc10ecd4 5256a7d8",
  ],
  [
    "ffffffff ffffffff ffffffff ffffffff",
    "ffffffff ffffffff ffffffff ffffffff",
    "2a881696 57012287 f6c7446e a16a6732",
  ],
  [
    "243f6a88 85a308d3 13198a2e 03707344",
    "a4093822 299f31d0 082efa98 ec4e6c89",
    "59cd1dbb b8879579 86b5d00c ac8b6d84",
  ],
];
