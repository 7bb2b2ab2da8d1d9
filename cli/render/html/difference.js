// How far two values are apart: the worst element, distances, classes, where.
import {axesOf} from "./axes.js";
import {element, facts, shown} from "./dom.js";
import {histogramOf} from "./histogram.js";
import {exact, grouped, percentage, short} from "./numbers.js";
import {outcomeOf, slotOf, typeAndShape} from "./words.js";

/** `text` with what follows the start that it shares with `other` marked. */
function changed(text, other) {
  let same = 0;
  while (same < text.length && text[same] === other[same]) same += 1;
  return [text.slice(0, same), same < text.length ? element("mark", {}, text.slice(same)) : null];
}

function worst(element_) {
  if (element_ === null) return null;
  const values = [element_.reference, element_.candidate].map((value) => shown(exact(value), 80));
  const bits = element_.bits.map((text) => shown(text, 80));
  const row = (name, run) => element(
      "tr", {}, element("th", {scope: "row"}, name),
      element("td", {class: "number"}, changed(values[run], values[1 - run])),
      element("td", {}, changed(bits[run], bits[1 - run])));
  return element(
      "table", {class: "worst"},
      element("caption", {}, `Largest difference, at [${shown(element_.index.join(", "), 120)}]`),
      row("reference", 0), row("candidate", 1));
}

function classes({nan, inf, subnormal, signed_zero: zeros}) {
  const pair = (name, [reference, candidate]) =>
      (Number(reference) + Number(candidate) === 0 ?
           null :
           `${name}: ${grouped(reference)} in the reference, ${
               grouped(candidate)} in the candidate`);
  const zero = Number(zeros) === 0 ? null : `zeros of different sign: ${grouped(zeros)}`;
  return [pair("NaN", nan), pair("infinite", inf), pair("subnormal", subnormal), zero]
      .filter(Boolean)
      .join("; ");
}

function budget(allowed) {
  if (allowed === null) return null;
  const used = allowed.used === null ? "" : `, ${percentage(allowed.used, 1)} of it used`;
  return `${allowed.inside ? "inside" : "outside"}${used}: ${shown(allowed.why, 200)}`;
}

function tolerance(tensor) {
  if (tensor.tolerance === null) return null;
  const {inside, rule} = tensor.tolerance;
  return `${inside ? "inside" : "outside"} ${rule === null ? "the limits" : `rule ${rule + 1}`}`;
}

/** One tensor; only the first of a finding is open. */
export function differenceOf(tensor, open) {
  const difference = tensor.difference;
  const name = tensor.name === "" ? "" : ` ${shown(tensor.name, 120)}`;
  return element(
      "details", {class: "difference", open},
      element(
          "summary", {}, element("strong", {}, `${slotOf(tensor)}${name}`),
          ` ${typeAndShape(tensor)}: `, outcomeOf(tensor)),
      element(
          "div", {class: "sides"},
          element(
              "div", {}, worst(difference.worst), facts([
                [
                  "distance",
                  `${grouped(difference.ulp.max)} ULP at most, ${short(difference.ulp.mean)} mean`
                ],
                [
                  "absolute",
                  `${short(difference.absolute.max)} at most, ${short(difference.absolute.rms)} rms`
                ],
                [
                  "scaled",
                  difference.scaled_max === null ?
                      null :
                      `${short(difference.scaled_max)} of the largest |reference|`
                ],
                ["classes", classes(difference.classes)], ["tolerance", tolerance(tensor)],
                ["budget", budget(difference.budget)]
              ])),
          element("div", {}, histogramOf(difference.ulp.histogram)),
          element("div", {}, axesOf(difference.axes))));
}
