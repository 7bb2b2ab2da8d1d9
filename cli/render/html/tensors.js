// What a finding's op reads and writes, and how far apart it is.
import {bounded, caption, code, element} from "./dom.js";
import {differenceOf} from "./difference.js";
import {mark} from "./mark.js";
import {counted, grouped, short} from "./numbers.js";
import {table} from "./table.js";
import {hasOneShape, outcomeOf, slotOf, typeAndShape} from "./words.js";

const kMostDifferences = 12;

function cells(tensor) {
  const {difference, equal} = tensor;
  const scaled = difference === null ? null : difference.scaled_max;
  return [
    element("td", {class: "slot"}, slotOf(tensor)), code(tensor.name, 120),
    element("td", {class: equal ? null : "changed"}, mark(equal), " ", outcomeOf(tensor)),
    difference === null ? "" : grouped(difference.ulp.max), scaled === null ? "" : short(scaled),
    typeAndShape(tensor)
  ];
}

/** What two tensors have in common if they are one. */
function likeness({dtype, shape, equal, difference}) {
  return JSON.stringify([dtype, shape, equal, String(difference?.differing ?? 0)]);
}

/**
 * Without what an in-place op returns: the argument that it has modified, which is listed already.
 */
function listed({op, tensors}) {
  if (!op?.endsWith("_")) return tensors;
  const modified = new Set(tensors.filter((tensor) => tensor.role === "mutated").map(likeness));
  return tensors.filter((tensor) => tensor.role !== "output" || !modified.has(likeness(tensor)));
}

/** A row for each tensor; null where there is none. */
export function tensorsOf(finding) {
  const tensors = listed(finding);
  if (tensors.length === 0) return null;
  const headings = ["", "tensor", "result", "largest ULP", "scaled", "type"];
  return table({class: "tensors"}, headings, tensors, cells, [3, 4]);
}

/** Each tensor that differs, in full; only one is open. */
export function differencesOf(finding) {
  const tensors = listed(finding);
  const all = tensors.filter((tensor) => tensor.difference !== null && !tensor.equal);
  if (all.length === 0) {
    const without = tensors.some(
        (tensor) => !tensor.equal && tensor.difference === null && hasOneShape(tensor));
    return without ?
        [
          caption(
              "How far apart is not known: the bytes are not in both dumps (record with --level full).")
        ] :
        [];
  }
  const results = all.findIndex((tensor) => tensor.role !== "input");
  const open = finding.kind === "origin" && results > 0 ? results : 0;
  return bounded(
      all, kMostDifferences, (tensor, index) => differenceOf(tensor, index === open),
      (more) => caption(`${counted(more, "more tensor")} with a difference`));
}
