// What a finding's op reads and writes, and how far apart it is.
import {bounded, caption, code, element} from "./dom.js";
import {differenceOf} from "./difference.js";
import {mark} from "./mark.js";
import {counted, grouped, short} from "./numbers.js";
import {outcomeOf, slotOf, typeAndShape} from "./words.js";

const kMostTensors = 40;
const kMostDifferences = 12;

/** A row for each tensor; null where there is none. */
export function tensorsOf(finding) {
  if (finding.tensors.length === 0) return null;
  const row = (tensor) => element(
      "tr", {}, element("td", {class: "slot"}, slotOf(tensor)),
      element("td", {}, code(tensor.name, 120)),
      element(
          "td", {class: tensor.equal ? "" : "changed"}, mark(tensor.equal), " ", outcomeOf(tensor)),
      element(
          "td", {class: "number"},
          tensor.difference === null ? "" : grouped(tensor.difference.ulp.max)),
      element(
          "td", {class: "number"},
          tensor.difference === null || tensor.difference.scaled_max === null ?
              "" :
              short(tensor.difference.scaled_max)),
      element("td", {}, typeAndShape(tensor)));
  return element(
      "div", {class: "scroll"},
      element(
          "table", {class: "tensors"},
          element(
              "thead", {},
              element(
                  "tr", {},
                  ["", "tensor", "result", "largest ULP", "scaled", "type"].map(
                      (text) => element("th", {scope: "col"}, text)))),
          element(
              "tbody", {},
              bounded(
                  finding.tensors, kMostTensors, row,
                  (more) => element(
                      "tr", {}, element("td", {colspan: 6}, counted(more, "more tensor")))))));
}

/** Each tensor that differs, in full; only one is open. */
export function differencesOf(finding) {
  const all = finding.tensors.filter((tensor) => tensor.difference !== null && !tensor.equal);
  if (all.length === 0) {
    const without = finding.tensors.some((tensor) => !tensor.equal && tensor.difference === null);
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
