/**
 * The hot loops of the prime sieve. Memory is laid out and filled by ../webAssemblyKernel.ts; all addresses come
 * from there, and nothing is allocated here.
 */
import { turnsOf8, turnsOf48 } from "./crossTurns";

export { countZeros, moveStrokes, placeTurns, preSieve, rewind } from "./blocks";
export { crossSparse, placeSparse } from "./crossSparse";

// One function for each class, which the compiler writes out with its constants.
export function turnsOf8class1(first: usize, last: usize, end: usize): void {
  turnsOf8(1, first, last, end);
}
export function turnsOf8class7(first: usize, last: usize, end: usize): void {
  turnsOf8(7, first, last, end);
}
export function turnsOf8class11(first: usize, last: usize, end: usize): void {
  turnsOf8(11, first, last, end);
}
export function turnsOf8class13(first: usize, last: usize, end: usize): void {
  turnsOf8(13, first, last, end);
}
export function turnsOf8class17(first: usize, last: usize, end: usize): void {
  turnsOf8(17, first, last, end);
}
export function turnsOf8class19(first: usize, last: usize, end: usize): void {
  turnsOf8(19, first, last, end);
}
export function turnsOf8class23(first: usize, last: usize, end: usize): void {
  turnsOf8(23, first, last, end);
}
export function turnsOf8class29(first: usize, last: usize, end: usize): void {
  turnsOf8(29, first, last, end);
}
export function turnsOf48class1(first: usize, last: usize, end: usize): void {
  turnsOf48(1, first, last, end);
}
export function turnsOf48class7(first: usize, last: usize, end: usize): void {
  turnsOf48(7, first, last, end);
}
export function turnsOf48class11(first: usize, last: usize, end: usize): void {
  turnsOf48(11, first, last, end);
}
export function turnsOf48class13(first: usize, last: usize, end: usize): void {
  turnsOf48(13, first, last, end);
}
export function turnsOf48class17(first: usize, last: usize, end: usize): void {
  turnsOf48(17, first, last, end);
}
export function turnsOf48class19(first: usize, last: usize, end: usize): void {
  turnsOf48(19, first, last, end);
}
export function turnsOf48class23(first: usize, last: usize, end: usize): void {
  turnsOf48(23, first, last, end);
}
export function turnsOf48class29(first: usize, last: usize, end: usize): void {
  turnsOf48(29, first, last, end);
}
