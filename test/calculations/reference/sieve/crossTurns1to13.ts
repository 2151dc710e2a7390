/** Classes of `crossTurns.ts`; see there. */
export function cross1(
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
    const o1 = 6 * a;
    const o2 = 10 * a;
    const o3 = 12 * a;
    const o4 = 16 * a;
    const o5 = 18 * a;
    const o6 = 22 * a;
    const o7 = 28 * a;
    let k = next[i] as number;
    for (; k < end; k = (k + p) | 0) {
      s.setUint8(k, s.getUint8(k) | 1);
      s.setUint8((k + o1) | 0, s.getUint8((k + o1) | 0) | 2);
      s.setUint8((k + o2) | 0, s.getUint8((k + o2) | 0) | 4);
      s.setUint8((k + o3) | 0, s.getUint8((k + o3) | 0) | 8);
      s.setUint8((k + o4) | 0, s.getUint8((k + o4) | 0) | 16);
      s.setUint8((k + o5) | 0, s.getUint8((k + o5) | 0) | 32);
      s.setUint8((k + o6) | 0, s.getUint8((k + o6) | 0) | 64);
      s.setUint8((k + o7) | 0, s.getUint8((k + o7) | 0) | 128);
    }
    next[i] = k;
  }
}

export function cross7(
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
    const o1 = 6 * a + 1;
    const o2 = 10 * a + 2;
    const o3 = 12 * a + 3;
    const o4 = 16 * a + 3;
    const o5 = 18 * a + 4;
    const o6 = 22 * a + 5;
    const o7 = 28 * a + 6;
    let k = next[i] as number;
    for (; k < end; k = (k + p) | 0) {
      s.setUint8(k, s.getUint8(k) | 2);
      s.setUint8((k + o1) | 0, s.getUint8((k + o1) | 0) | 32);
      s.setUint8((k + o2) | 0, s.getUint8((k + o2) | 0) | 16);
      s.setUint8((k + o3) | 0, s.getUint8((k + o3) | 0) | 1);
      s.setUint8((k + o4) | 0, s.getUint8((k + o4) | 0) | 128);
      s.setUint8((k + o5) | 0, s.getUint8((k + o5) | 0) | 8);
      s.setUint8((k + o6) | 0, s.getUint8((k + o6) | 0) | 4);
      s.setUint8((k + o7) | 0, s.getUint8((k + o7) | 0) | 64);
    }
    next[i] = k;
  }
}

export function cross11(
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
    const o1 = 6 * a + 2;
    const o2 = 10 * a + 4;
    const o3 = 12 * a + 4;
    const o4 = 16 * a + 6;
    const o5 = 18 * a + 6;
    const o6 = 22 * a + 8;
    const o7 = 28 * a + 10;
    let k = next[i] as number;
    for (; k < end; k = (k + p) | 0) {
      s.setUint8(k, s.getUint8(k) | 4);
      s.setUint8((k + o1) | 0, s.getUint8((k + o1) | 0) | 16);
      s.setUint8((k + o2) | 0, s.getUint8((k + o2) | 0) | 1);
      s.setUint8((k + o3) | 0, s.getUint8((k + o3) | 0) | 64);
      s.setUint8((k + o4) | 0, s.getUint8((k + o4) | 0) | 2);
      s.setUint8((k + o5) | 0, s.getUint8((k + o5) | 0) | 128);
      s.setUint8((k + o6) | 0, s.getUint8((k + o6) | 0) | 8);
      s.setUint8((k + o7) | 0, s.getUint8((k + o7) | 0) | 32);
    }
    next[i] = k;
  }
}

export function cross13(
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
    const o2 = 10 * a + 4;
    const o3 = 12 * a + 5;
    const o4 = 16 * a + 7;
    const o5 = 18 * a + 8;
    const o6 = 22 * a + 9;
    const o7 = 28 * a + 12;
    let k = next[i] as number;
    for (; k < end; k = (k + p) | 0) {
      s.setUint8(k, s.getUint8(k) | 8);
      s.setUint8((k + o1) | 0, s.getUint8((k + o1) | 0) | 1);
      s.setUint8((k + o2) | 0, s.getUint8((k + o2) | 0) | 64);
      s.setUint8((k + o3) | 0, s.getUint8((k + o3) | 0) | 32);
      s.setUint8((k + o4) | 0, s.getUint8((k + o4) | 0) | 4);
      s.setUint8((k + o5) | 0, s.getUint8((k + o5) | 0) | 2);
      s.setUint8((k + o6) | 0, s.getUint8((k + o6) | 0) | 128);
      s.setUint8((k + o7) | 0, s.getUint8((k + o7) | 0) | 16);
    }
    next[i] = k;
  }
}
