import { instantiate, kernelLoader } from "../loadKernel.ts";

/** It exports the functions below and nothing else of `Math`. */
const kernel = kernelLoader("exact", instantiate<Math>);

/**
 * Functions of `Math` whose results have the same bits on every machine and in every version of the engine. JavaScript
 * leaves the last bit of its own to the engine; + - × ÷, `Math.sqrt`, rounding, minima and `abs` are exact there.
 *
 * Within two units in the last place of those of `Math`; `hypot` takes two numbers. `x ** y` of the language is `Math.pow`.
 * Not promised: the bits of a NaN.
 *
 * The kernel starts with the first call, so that importing costs nothing.
 */
export const portableMath = Object.freeze({
  acos: (x: number) => kernel().acos(x),
  acosh: (x: number) => kernel().acosh(x),
  asin: (x: number) => kernel().asin(x),
  asinh: (x: number) => kernel().asinh(x),
  atan: (x: number) => kernel().atan(x),
  atan2: (y: number, x: number) => kernel().atan2(y, x),
  atanh: (x: number) => kernel().atanh(x),
  cbrt: (x: number) => kernel().cbrt(x),
  cos: (x: number) => kernel().cos(x),
  cosh: (x: number) => kernel().cosh(x),
  exp: (x: number) => kernel().exp(x),
  expm1: (x: number) => kernel().expm1(x),
  hypot: (x: number, y: number) => kernel().hypot(x, y),
  log: (x: number) => kernel().log(x),
  log10: (x: number) => kernel().log10(x),
  log1p: (x: number) => kernel().log1p(x),
  log2: (x: number) => kernel().log2(x),
  pow: (x: number, y: number) => kernel().pow(x, y),
  sin: (x: number) => kernel().sin(x),
  sinh: (x: number) => kernel().sinh(x),
  tan: (x: number) => kernel().tan(x),
  tanh: (x: number) => kernel().tanh(x),
});
export type PortableMath = typeof portableMath;
