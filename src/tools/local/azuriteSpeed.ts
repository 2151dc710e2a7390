/**
 * Code that replaces functions of the emulator by equivalents that do less work, for the version that the lockfile names. Where
 * a later emulator lacks what a piece loads, that piece ends there and the others go on.
 *
 * Not promised: any other answer than the emulator's own. `test/contract/azuriteSpeed.test.ts` compares both, byte by byte.
 */

/**
 * Two thirds of a start is the loading of telemetry, which a flag turns off, and of a store in SQL that an environment
 * variable asks for. Each is loaded when the emulator reads the first of its properties, if it ever does.
 */
const unused = `
  for (const name of ["applicationinsights", "./dist/src/blob/SqlBlobServer"]) {
    const path = load.resolve(name);
    let module;
    const get = (_, key) => {
      if (key === "__esModule") return true;
      if (module === undefined) delete load.cache[path];
      module ??= load(path);
      return module[key];
    };
    load.cache[path] = { exports: new Proxy({}, { get }), loaded: true, children: [] };
  }
`;

/**
 * The emulator keeps its records in LokiJS, whose batch functions sort every index anew for a single record, or read all
 * records for none, and which scans all records if the first condition has no index: with 10,000 blobs a delete took
 * 92 ms and now takes 1.3. These functions only choose the method for few records, or the order of conditions. A list tries its
 * prefix as a pattern on all names; with a slash in it no such name is a number, which the index sorts apart, so that a range
 * of the index has them.
 */
const records = `
  const Loki = load("lokijs");
  const records = Loki.Collection.prototype;
  const { removeBatchByPositions, removeBatch, update } = records;
  if (removeBatchByPositions) records.removeBatchByPositions = function (places) {
    if (places.length === 1) this.remove(this.data[places[0]]);
    else if (places.length > 1) removeBatchByPositions.call(this, places);
  };
  if (removeBatch) records.removeBatch = function (batch) {
    if (batch.length > 0) removeBatch.call(this, batch);
  };
  if (update) records.update = function (found) {
    const one = Array.isArray(found) && found.length === 1;
    if (!Array.isArray(found) || found.length > 0) return update.call(this, one ? found[0] : found);
  };
  const results = Loki.Resultset.prototype;
  const { findAnd } = results;
  const telling = ["messageId", "name", "blobName"];
  const rangeOf = ({ name }) => {
    const pattern = name?.$regex;
    if (typeof pattern !== "string" || Object.keys(name).length > 1) return undefined;
    const prefix = pattern.slice(1).replace(/\\\\(.)/gs, "$1");
    const again = "^" + prefix.replace(/[-\\/\\\\^$*+?.()|[\\]{}]/g, "\\\\$&");
    return again === pattern && prefix.includes("/") ? { name: { $between: [prefix, prefix + "\\uffff"] } } : undefined;
  };
  if (findAnd) results.findAnd = results.$and = function (conditions) {
    const indices = this.filterInitialized ? {} : this.collection.binaryIndices;
    const indexed = (one) => telling.some((key) => typeof one[key] === "string" && key in indices);
    const first = conditions.find(indexed) ?? ("name" in indices ? conditions.map(rangeOf).find(Boolean) : undefined);
    return findAnd.call(this, first === undefined ? conditions : [first, ...conditions.filter((one) => one !== first)]);
  };
`;

/**
 * Messages have indices on their account and queue, which all have in common, and on a property that none has: each
 * insert, update and delete reads all messages to keep those. Every answer over messages is sorted or about one message,
 * so no order depends on an index. Names of equal text become one string, which compares by its address. And each call
 * searches all messages for expired ones, although the earliest expiry is known; it is read again once it has passed.
 */
const messages = `
  const Loki = load("lokijs");
  const { addCollection } = Loki.prototype;
  Loki.prototype.addCollection = function (name, options) {
    const ofMessages = name === "$MESSAGES_COLLECTION$";
    return addCollection.call(this, name, ofMessages ? { ...options, indices: ["messageId"] } : options);
  };
  const names = new Map();
  const shared = (name) => {
    if (names.size > 1000) names.clear();
    if (!names.has(name)) names.set(name, name);
    return names.get(name);
  };
  const store = load("./dist/src/queue/persistence/LokiQueueMetadataStore").default.prototype;
  const { insertMessage, getMessages, clearExpiredMessages } = store;
  const earliest = new WeakMap();
  store.insertMessage = function (message, ...rest) {
    const { accountName, queueName, expirationTime } = message;
    if (earliest.has(this)) earliest.set(this, Math.min(earliest.get(this), expirationTime.getTime()));
    const copy = { ...message, accountName: shared(accountName), queueName: shared(queueName) };
    return insertMessage.call(this, copy, ...rest);
  };
  store.getMessages = function (account, queue, ...rest) {
    return getMessages.call(this, shared(account), shared(queue), ...rest);
  };
  store.clearExpiredMessages = async function (...which) {
    if (Date.now() < earliest.get(this)) return;
    await clearExpiredMessages.apply(this, which);
    const times = this.db.getCollection(this.MESSAGES_COLLECTION).data.map((one) => +new Date(one.expirationTime));
    earliest.set(this, times.reduce((a, b) => Math.min(a, b), Infinity));
  };
`;

/**
 * Each request parses the URI templates of all operations and makes a key of the account's bytes. Node 24 makes an error
 * object to see that those are no key, and walks the stack to see whether its warning of \`url.parse\` is due.
 */
const requests = `
  for (const service of ["blob", "queue"]) {
    const utils = load("./dist/src/" + service + "/generated/utils/utils");
    const { isURITemplateMatch } = utils;
    const known = new Map();
    utils.isURITemplateMatch = (path, template) => {
      const question = path + " " + template;
      if (known.size > 10_000) known.clear();
      if (!known.has(question)) known.set(question, isURITemplateMatch(path, template));
      return known.get(question);
    };
  }
  const { createHmac, createSecretKey } = load("node:crypto");
  const keys = new WeakMap();
  load("./dist/src/common/utils/utils").computeHMACSHA256 = (text, bytes) => {
    if (!keys.has(bytes)) keys.set(bytes, createSecretKey(bytes));
    return createHmac("sha256", keys.get(bytes)).update(text, "utf8").digest("base64");
  };
  const { noDeprecation } = process;
  process.noDeprecation = true;
  load("node:url").parse("http://127.0.0.1/");
  process.noDeprecation = noDeprecation;
`;

/**
 * The emulator builds a tree of objects with validated names for each XML answer, which takes a third of a list. Whatever
 * is not plain names, attributes and printable text is left to it.
 */
const answers = `
  const xml = ["blob", "queue"].map((service) => load("./dist/src/" + service + "/generated/utils/xml"));
  const isName = /^[A-Za-z_][A-Za-z0-9_.-]*$/;
  const names = new Set();
  const name = (text) => {
    if (names.has(text)) return text;
    if (!isName.test(text) || text === "_") throw new RangeError(text);
    if (names.size < 10_000) names.add(text);
    return text;
  };
  const isPlain = /^[\\x20-\\x7e]*$/;
  const special = /[&<>"]/;
  const entities = { "&": "&amp;", "<": "&lt;", ">": "&gt;" };
  const text = (value) => {
    const plain = String(value);
    if (!isPlain.test(plain)) throw new RangeError(plain);
    return special.test(plain) ? plain.replace(/[&<>]/g, (one) => entities[one]) : plain;
  };
  const attribute = (value) => {
    if (typeof value !== "string" || !isPlain.test(value)) throw new RangeError(String(value));
    return value.replace(/&/g, "&amp;").replace(/</g, "&lt;").replace(/"/g, "&quot;");
  };
  const element = (key, value) => {
    const isTree = typeof value === "object" && value !== null;
    if (Array.isArray(value) || (isTree && Object.getPrototypeOf(value) !== Object.prototype)) throw new RangeError(key);
    let attributes = "";
    let inner = "";
    if (!isTree) inner = text(value ?? "");
    else for (const child of Object.keys(value)) {
      const below = value[child];
      if (child === "$") for (const one of Object.keys(below)) attributes += " " + name(one) + '="' + attribute(below[one]) + '"';
      else if (Array.isArray(below)) for (const one of below) inner += element(child, one);
      else inner += element(child, below);
    }
    return "<" + name(key) + attributes + (inner === "" ? "/>" : ">" + inner + "</" + key + ">");
  };
  for (const one of xml) {
    const { stringifyXML } = one;
    one.stringifyXML = (tree, options) => {
      try {
        return '<?xml version="1.0" encoding="UTF-8" standalone="yes"?>' + element(options.rootName, tree);
      } catch {
        return stringifyXML(tree, options);
      }
    };
  }
`;

/** All pieces as code of a module. */
export const azuriteSpeed = (azuriteManifest: string): string => `
import { createRequire as requireNextTo } from "node:module";
const load = requireNextTo(${JSON.stringify(azuriteManifest)});
${[unused, records, messages, requests, answers].map((piece) => `try {${piece}} catch {}`).join("\n")}
`;
