/**
 * The elementary functions of AssemblyScript's standard library, ports of musl's: +, -, ·, /, √ and whole numbers alone,
 * which WebAssembly rounds alike everywhere. ../portableMath.ts calls them.
 */
export function acos(x: f64): f64 {
  return NativeMath.acos(x);
}

export function acosh(x: f64): f64 {
  return NativeMath.acosh(x);
}

export function asin(x: f64): f64 {
  return NativeMath.asin(x);
}

export function asinh(x: f64): f64 {
  return NativeMath.asinh(x);
}

export function atan(x: f64): f64 {
  return NativeMath.atan(x);
}

export function atanh(x: f64): f64 {
  return NativeMath.atanh(x);
}

export function cbrt(x: f64): f64 {
  return NativeMath.cbrt(x);
}

export function cos(x: f64): f64 {
  return NativeMath.cos(x);
}

export function cosh(x: f64): f64 {
  return NativeMath.cosh(x);
}

export function exp(x: f64): f64 {
  return NativeMath.exp(x);
}

export function expm1(x: f64): f64 {
  return NativeMath.expm1(x);
}

export function log(x: f64): f64 {
  return NativeMath.log(x);
}

export function log10(x: f64): f64 {
  return NativeMath.log10(x);
}

export function log1p(x: f64): f64 {
  return NativeMath.log1p(x);
}

export function log2(x: f64): f64 {
  return NativeMath.log2(x);
}

export function sin(x: f64): f64 {
  return NativeMath.sin(x);
}

export function sinh(x: f64): f64 {
  return NativeMath.sinh(x);
}

export function tan(x: f64): f64 {
  return NativeMath.tan(x);
}

export function tanh(x: f64): f64 {
  return NativeMath.tanh(x);
}

export function atan2(y: f64, x: f64): f64 {
  return NativeMath.atan2(y, x);
}

export function hypot(x: f64, y: f64): f64 {
  return NativeMath.hypot(x, y);
}

export function pow(x: f64, y: f64): f64 {
  return NativeMath.pow(x, y);
}
