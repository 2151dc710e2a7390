import { instantiate, kernelLoader } from "../loadKernel.ts";

/**
 * Functions of `Math` whose results have the same bits on every machine and in every version of the engine. JavaScript
 * leaves the last bit of its own to the engine; + - × ÷, `Math.sqrt`, rounding, minima and `abs` are exact there.
 *
 * Within two units in the last place of those of `Math`; `hypot` takes two numbers. `x ** y` of the language is `Math.pow`.
 * Not promised: the bits of a NaN.
 */
export interface PortableMath {
  acos(x: number): number;
  acosh(x: number): number;
  asin(x: number): number;
  asinh(x: number): number;
  atan(x: number): number;
  atan2(y: number, x: number): number;
  atanh(x: number): number;
  cbrt(x: number): number;
  cos(x: number): number;
  cosh(x: number): number;
  exp(x: number): number;
  expm1(x: number): number;
  hypot(x: number, y: number): number;
  log(x: number): number;
  log10(x: number): number;
  log1p(x: number): number;
  log2(x: number): number;
  pow(x: number, y: number): number;
  sin(x: number): number;
  sinh(x: number): number;
  tan(x: number): number;
  tanh(x: number): number;
}

const kernel = kernelLoader("exact", instantiate<PortableMath>);

/** The kernel starts with the first call, so that importing costs nothing. */
export const portableMath: PortableMath = Object.freeze({
  acos: (x) => kernel().acos(x),
  acosh: (x) => kernel().acosh(x),
  asin: (x) => kernel().asin(x),
  asinh: (x) => kernel().asinh(x),
  atan: (x) => kernel().atan(x),
  atan2: (y, x) => kernel().atan2(y, x),
  atanh: (x) => kernel().atanh(x),
  cbrt: (x) => kernel().cbrt(x),
  cos: (x) => kernel().cos(x),
  cosh: (x) => kernel().cosh(x),
  exp: (x) => kernel().exp(x),
  expm1: (x) => kernel().expm1(x),
  hypot: (x, y) => kernel().hypot(x, y),
  log: (x) => kernel().log(x),
  log10: (x) => kernel().log10(x),
  log1p: (x) => kernel().log1p(x),
  log2: (x) => kernel().log2(x),
  pow: (x, y) => kernel().pow(x, y),
  sin: (x) => kernel().sin(x),
  sinh: (x) => kernel().sinh(x),
  tan: (x) => kernel().tan(x),
  tanh: (x) => kernel().tanh(x),
} satisfies PortableMath);
