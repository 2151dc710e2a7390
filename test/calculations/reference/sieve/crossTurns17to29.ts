/** Classes of `crossTurns.ts`; see there. */
export function cross17(
  s: DataView,
  primes: Int32Array,
  next: Int32Array,
  first: number,
  last: number,
  end: number,
) {
  for (let i = first; i < last; i++) {
    const p = primes[i] as number;
    const a = (p / 30) | 0;
    const o1 = 6 * a + 3;
    const o2 = 10 * a + 6;
    const o3 = 12 * a + 7;
    const o4 = 16 * a + 9;
    const o5 = 18 * a + 10;
    const o6 = 22 * a + 13;
    const o7 = 28 * a + 16;
    let k = next[i] as number;
    for (; k < end; k = (k + p) | 0) {
      s.setUint8(k, s.getUint8(k) | 16);
      s.setUint8((k + o1) | 0, s.getUint8((k + o1) | 0) | 128);
      s.setUint8((k + o2) | 0, s.getUint8((k + o2) | 0) | 2);
      s.setUint8((k + o3) | 0, s.getUint8((k + o3) | 0) | 4);
      s.setUint8((k + o4) | 0, s.getUint8((k + o4) | 0) | 32);
      s.setUint8((k + o5) | 0, s.getUint8((k + o5) | 0) | 64);
      s.setUint8((k + o6) | 0, s.getUint8((k + o6) | 0) | 1);
      s.setUint8((k + o7) | 0, s.getUint8((k + o7) | 0) | 8);
    }
    next[i] = k;
  }
}

export function cross19(
  s: DataView,
  primes: Int32Array,
  next: Int32Array,
  first: number,
  last: number,
  end: number,
) {
  for (let i = first; i < last; i++) {
    const p = primes[i] as number;
    const a = (p / 30) | 0;
    const o1 = 6 * a + 4;
    const o2 = 10 * a + 6;
    const o3 = 12 * a + 8;
    const o4 = 16 * a + 10;
    const o5 = 18 * a + 12;
    const o6 = 22 * a + 14;
    const o7 = 28 * a + 18;
    let k = next[i] as number;
    for (; k < end; k = (k + p) | 0) {
      s.setUint8(k, s.getUint8(k) | 32);
      s.setUint8((k + o1) | 0, s.getUint8((k + o1) | 0) | 8);
      s.setUint8((k + o2) | 0, s.getUint8((k + o2) | 0) | 128);
      s.setUint8((k + o3) | 0, s.getUint8((k + o3) | 0) | 2);
      s.setUint8((k + o4) | 0, s.getUint8((k + o4) | 0) | 64);
      s.setUint8((k + o5) | 0, s.getUint8((k + o5) | 0) | 1);
      s.setUint8((k + o6) | 0, s.getUint8((k + o6) | 0) | 16);
      s.setUint8((k + o7) | 0, s.getUint8((k + o7) | 0) | 4);
    }
    next[i] = k;
  }
}

export function cross23(
  s: DataView,
  primes: Int32Array,
  next: Int32Array,
  first: number,
  last: number,
  end: number,
) {
  for (let i = first; i < last; i++) {
    const p = primes[i] as number;
    const a = (p / 30) | 0;
    const o1 = 6 * a + 5;
    const o2 = 10 * a + 8;
    const o3 = 12 * a + 9;
    const o4 = 16 * a + 13;
    const o5 = 18 * a + 14;
    const o6 = 22 * a + 17;
    const o7 = 28 * a + 22;
    let k = next[i] as number;
    for (; k < end; k = (k + p) | 0) {
      s.setUint8(k, s.getUint8(k) | 64);
      s.setUint8((k + o1) | 0, s.getUint8((k + o1) | 0) | 4);
      s.setUint8((k + o2) | 0, s.getUint8((k + o2) | 0) | 8);
      s.setUint8((k + o3) | 0, s.getUint8((k + o3) | 0) | 128);
      s.setUint8((k + o4) | 0, s.getUint8((k + o4) | 0) | 1);
      s.setUint8((k + o5) | 0, s.getUint8((k + o5) | 0) | 16);
      s.setUint8((k + o6) | 0, s.getUint8((k + o6) | 0) | 32);
      s.setUint8((k + o7) | 0, s.getUint8((k + o7) | 0) | 2);
    }
    next[i] = k;
  }
}

export function cross29(
  s: DataView,
  primes: Int32Array,
  next: Int32Array,
  first: number,
  last: number,
  end: number,
) {
  for (let i = first; i < last; i++) {
    const p = primes[i] as number;
    const a = (p / 30) | 0;
    const o1 = 6 * a + 6;
    const o2 = 10 * a + 10;
    const o3 = 12 * a + 12;
    const o4 = 16 * a + 16;
    const o5 = 18 * a + 18;
    const o6 = 22 * a + 22;
    const o7 = 28 * a + 28;
    let k = next[i] as number;
    for (; k < end; k = (k + p) | 0) {
      s.setUint8(k, s.getUint8(k) | 128);
      s.setUint8((k + o1) | 0, s.getUint8((k + o1) | 0) | 64);
      s.setUint8((k + o2) | 0, s.getUint8((k + o2) | 0) | 32);
      s.setUint8((k + o3) | 0, s.getUint8((k + o3) | 0) | 16);
      s.setUint8((k + o4) | 0, s.getUint8((k + o4) | 0) | 8);
      s.setUint8((k + o5) | 0, s.getUint8((k + o5) | 0) | 4);
      s.setUint8((k + o6) | 0, s.getUint8((k + o6) | 0) | 2);
      s.setUint8((k + o7) | 0, s.getUint8((k + o7) | 0) | 1);
    }
    next[i] = k;
  }
}
