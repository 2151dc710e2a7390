import { expect, test } from "vitest";
import { hashOf, parseRoute, type Route, takeToken } from "../route.ts";

const addresses: readonly (readonly [string, Exclude<Route, { view: "unknown" }>])[] = [
  ["#/runs", { view: "runs" }],
  ["#/runs?phase=failed&calculation=primes", { view: "runs", phase: "failed", calculation: "primes" }],
  ["#/runs/primes-1?gen=2&shard=17", { view: "run", run: "primes-1", gen: 2, shard: 17 }],
  ["#/runs/a%2Fb%3Fc", { view: "run", run: "a/b?c" }],
  ["#/?since=3d", { view: "overview", since: "3d" }],
  ["#/system", { view: "system" }],
  ["#/system/leasefold-packs", { view: "system", queue: "leasefold-packs" }],
  ["#/schedules", { view: "schedules" }],
  ["#/submit?from=primes-1", { view: "submit", from: "primes-1" }],
];

test.each(addresses)("the address %s is read and written", (hash, route) => {
  expect(parseRoute(hash)).toEqual(route);
  expect(parseRoute(hashOf(route))).toEqual(route);
});

test.each([
  ["", { view: "overview" }],
  ["#/runs/x?gen=-1&shard=1e3", { view: "run", run: "x" }],
  ["#/nowhere", { view: "unknown", path: "/nowhere" }],
  ["#/runs/x/y", { view: "unknown", path: "/runs/x/y" }],
  ["#/runs/%E0%A4%A", { view: "unknown", path: "/runs/%E0%A4%A" }],
])("the address %j leads to %j", (hash, route) => {
  expect(parseRoute(hash)).toEqual(route);
});

test.each([
  ["#token=a%2Fb", { token: "a/b", rest: "#/" }],
  ["#token=k&/runs/x?gen=2", { token: "k", rest: "#/runs/x?gen=2" }],
  ["#token=k&javascript:alert(1)", { token: "k", rest: "#/" }],
  ["#token=", { rest: "#/" }],
  ["#token=%E0%A4%A", { rest: "#/" }],
  ["#/runs/token=k", { rest: "#/runs/token=k" }],
])("the fragment %j gives its key and what stays", (hash, taken) => {
  expect(takeToken(hash)).toEqual(taken);
});
