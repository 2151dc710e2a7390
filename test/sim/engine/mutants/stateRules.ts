import { edit, type Mutant } from "./mutant.ts";

const saving = "a worker dies or sleeps at each file that it saves, and at each partial that names one";
const joining = "a finisher dies or sleeps at each read and write of a result that joins files";
const spoilt = "a file that is another than its name says fails the run that would join it";

/** Writing: who is first, whose the state is, what an unknown reply means, and in which order. */
export const stateRules: readonly Mutant[] = [
  {
    without: "create-only (a blob that is there is written over)",
    rule: "create-only",
    killedBy: "the first writer wins",
    cases: { seedsFrom: 1 },
    edits: edit(
      "writesOf",
      'if (account.find(container, name) !== undefined) return { kind: "existed" };',
      'if (account.find(container, name) !== undefined && container === "sim-coordination") return { kind: "existed" };',
    ),
  },
  {
    without: "a name of its own for the result of each attempt",
    rule: "create-only",
    killedBy: "the result is the fold of what the manifest says",
    cases: ["two finishers, the first of which sleeps with its result written"],
    edits: edit("finishRun", "result(gen, tag, extension)", 'result(gen, "same", extension)'),
  },
  {
    without: "the file before the partial that names it",
    rule: "create-only",
    killedBy: "what names a file comes after it",
    cases: [saving],
    edits: edit(
      "computePack",
      "await storage.blobs.create(names.results, resultBlobs(run, uid).file(name), body);",
      "void storage.blobs.create(names.results, resultBlobs(run, uid).file(name), body).catch(() => {});",
    ),
  },
  {
    without: "the order of the files that a result joins",
    rule: "create-only",
    killedBy: "the result is the fold of what the manifest says",
    cases: [joining],
    edits: edit("joined", "rangesOf(files), read", "rangesOf(files.toReversed()), read"),
  },
  {
    without: "all of the files that a result joins",
    rule: "create-only",
    killedBy: "the result is the fold of what the manifest says",
    cases: [joining],
    edits: edit("joined", "rangesOf(files), read", "rangesOf(files.slice(1)), read"),
  },
  {
    without: "a look whether a file is the one that its name says",
    rule: "create-only",
    killedBy: "the result is the fold of what the manifest says",
    cases: [spoilt],
    edits: edit("joined", 'sum.digest("hex") !== sha256OfFile(name)', "name.length === 0"),
  },
  {
    without: "the whole result before the manifest that names it",
    rule: "create-only",
    killedBy: "the result is the fold of what the manifest says",
    cases: [joining],
    edits: edit(
      "uploadResult",
      "await blobs.upload(results, blob, counted(joined(ports, attempt, body, joins)), { contentType });",
      "const late = counted(joined(ports, attempt, body, joins)); const all = await Array.fromAsync(late);" +
        " void blobs.upload(results, blob, (async function* () { yield* all; })(), { contentType });",
    ),
  },
  {
    without: "the hash of its bytes in the name of a file",
    rule: "create-only",
    killedBy: "what names a file comes after it",
    cases: [saving],
    edits: edit("computePack", ".file(name)", '.file("same")'),
  },
  {
    without: "a name of its own for the segments of each planning attempt",
    rule: "create-only",
    killedBy: "fails only for a reason",
    cases: ["two planners of a list, one of which dies half-way"],
    edits: edit(
      "planRun",
      "at.segment(tag, segments.starts.length)",
      'at.segment("same", segments.starts.length)',
    ).concat(edit("planRun", "segments: { attempt: tag,", 'segments: { attempt: "same",')),
  },
  {
    without: "If-Match on the state",
    rule: "state chain",
    killedBy: "state is one chain by term",
    cases: ["a leader sleeps for minutes with a state write in its socket, each in turn"],
    edits: edit(
      "writesOf",
      'if (blob === undefined || blob.etag !== write.ifMatch) return { kind: "conflict" };',
      'if (blob === undefined) return { kind: "conflict" };',
    ),
  },
  {
    without: "taking over the state before anything else is written",
    rule: "state chain",
    killedBy: "state is one chain by term",
    cases: { seedsFrom: 2 },
    edits: edit("takeOverState", "await chain.write(written);", "if (retried) await chain.write(written);"),
  },
  {
    without: "the end of a term that finds another's termid",
    rule: "state chain",
    killedBy: "state is one chain by term",
    cases: ["two lead at once, because an operator broke the lease"],
    edits: edit(
      "chainFrom",
      "if (found?.state.termid !== leader.termid) throw new DeposedError(found?.state.term ?? 0);",
      "if (found === undefined) throw new DeposedError(0);",
    ),
  },
  {
    without: "reading back what stands after a conflict (mine is taken for written)",
    rule: "state chain",
    killedBy: "sent what was recorded",
    cases: [
      "state writes that get no answer three times in a row",
      "a state write whose reply was lost, then written with other bytes",
    ],
    edits: edit(
      "chainFrom",
      "state = found.state;\n      etag = found.etag;",
      "state = mine;\n      etag = found.etag;",
    ).concat(
      edit(
        "chainFrom",
        "const mine = unsettled ?? owned(store, leader, next);",
        "const mine = owned(store, leader, next);",
      ),
    ),
  },
  {
    without: "a new number for other bytes",
    rule: "state chain",
    killedBy: "state is one chain by term",
    cases: { seedsFrom: 1 },
    edits: edit("owned", "sequence: store.nextSequence(),", "sequence: 1 + 0 * store.nextSequence(),"),
  },
  {
    without: "the message before the cursor",
    rule: "send order",
    killedBy: "recorded what was sent",
    cases: { seedsFrom: 1 },
    edits: edit(
      "perform",
      "await sendPacks(run, draft);",
      "void term.clock.sleep(200).then(() => sendPacks(run, draft)).catch(() => {});",
    ),
  },
  {
    without: "the record before a combine or finish is sent",
    rule: "send order",
    killedBy: "sent what was recorded",
    cases: { seedsFrom: 1 },
    edits: edit(
      "perform",
      "  assertLegalMove(before, next);\n",
      "  await sendTasks(run, next);\n  assertLegalMove(before, next);\n",
    ),
  },
  {
    without: "sending anew what an earlier leader recorded",
    rule: "send order",
    killedBy: "every run ends",
    cases: ["a leader dies with each kind of task recorded and not sent"],
    edits: edit(
      "judgeTasks",
      "|| unsent.has(name)) continue;",
      "|| unsent.has(name) || draft.sendNotes.possiblySent.has(taskKey(state, name))) continue;",
    ),
  },
  {
    without: "the same members with each send of a combine",
    rule: "sealed shards",
    killedBy: "a member set is fixed",
    cases: ["a combiner of a shard with gaps sleeps, and another folds the same members"],
    edits: edit(
      "taskMessage",
      "(level === 1 ? state.sealed[index] : undefined)",
      "(level === 1 && send === 1 ? state.sealed[index] : undefined)",
    ),
  },
  {
    without: "the members of a sealed shard in the message",
    rule: "sealed shards",
    killedBy: "fails only for a reason",
    cases: ["a retry of a run with few gaps, far apart"],
    edits: edit(
      "taskMessage",
      "(level === 1 ? state.sealed[index] : undefined)",
      "(level === 0 ? state.sealed[index] : undefined)",
    ),
  },
  {
    without: "every member in a fold (what is not there is left out)",
    rule: "sealed shards",
    killedBy: "fails only for a reason",
    cases: ["a partial that was deleted by hand"],
    edits: edit(
      "allOf",
      "return Array.from(indexes, (index) => {\n    const output = found.get(index);",
      "return Array.from(indexes).filter((index) => found.has(index)).map((index) => {\n    const output = found.get(index);",
    ),
  },
  {
    without: "success before failure",
    rule: "sealed shards",
    killedBy: "the scenario's own end",
    cases: ["a partial arrives after its pack was given up and before its shard is sealed"],
    edits: edit("trackParts", "clearBit(failed, index - packs.from);", ""),
  },
  {
    without: "the generation in a node's name",
    rule: "generations",
    killedBy: "fails only for a reason",
    cases: [{ who: "worker", call: 0, fate: "arrives" }],
    edits: edit(
      "runBlobs",
      "`${root}nodes/${pad(generation, 3)}/${level}/${shardName(index)}`",
      "`${root}nodes/${pad(1 + 0 * generation, 3)}/${level}/${shardName(index)}`",
    ).concat(
      edit(
        "runBlobs",
        "`${root}nodes/${pad(generation, 3)}/${level}/`",
        "`${root}nodes/${pad(1 + 0 * generation, 3)}/${level}/`",
      ),
    ),
  },
  {
    without: "a recount before a retry sends anything",
    rule: "generations",
    killedBy: "a retry computes what has no partial",
    cases: ["a partial arrives between the end of a run and its retry"],
    edits: edit("walkAgain", "for (const open of Object.values(state.open)) open.recount = true;", ""),
  },
  {
    without: "passing over what has its partial",
    rule: "generations",
    killedBy: "a retry computes what has no partial",
    cases: [{ who: "worker", call: 0, fate: "arrives" }],
    edits: edit(
      "fanOut",
      "if (hasEnded(pack)) continue;",
      "if (hasEnded(pack) && state.packsFailed > 0) continue;",
    ),
  },
  {
    without: "combining anew above what was mended",
    rule: "generations",
    killedBy: "fails only for a reason",
    cases: ["a retry that fails again keeps what it computed, and the third generation completes"],
    edits: edit("keepGroups", "if (indexesOf(children).every(isKept))", "if (level > 0)"),
  },
];
