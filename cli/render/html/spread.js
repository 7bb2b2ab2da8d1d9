// How the difference spreads from where the runs diverge to the loss.
import {caption, code, element, section, shown} from "./dom.js";
import {levelClass} from "./levels.js";
import {counted, grouped, short} from "./numbers.js";

const kMostPoints = 200;
const kMostRanges = 8;

/** ", in step 0", ", in steps 0 - 3, 7" */
function stepsOf(ranges) {
  if (ranges.length === 0) return "";
  const words =
      ranges.slice(0, kMostRanges)
          .map(([first, last]) => (first === last ? String(first) : `${first} - ${last}`));
  const one = ranges.length === 1 && ranges[0][0] === ranges[0][1];
  return `, in step${one ? "" : "s"} ${words.join(", ")}${
      ranges.length > kMostRanges ? ", …" : ""}`;
}

export function spreadOf(report) {
  const {path, propagated} = report;
  const note = Number(propagated.events) === 0 ?
      null :
      element(
          "p", {class: "caption"},
          `${counted(propagated.events, "event")} inherited it${stepsOf(propagated.steps)}`,
          propagated.note === null ? "." : `: ${shown(propagated.note)}.`);
  if (path === null) return section("spread", "How it spreads", note);
  const row = (point, index) => element(
      "tr", {}, element("td", {class: "number"}, String(index + 1)),
      element("td", {}, code(point.op, 120)), element("td", {}, code(point.module, 160)),
      element("td", {class: "number"}, grouped(point.ulp_max)),
      element("td", {class: "number"}, point.scaled_max === null ? "" : short(point.scaled_max)),
      element("td", {}, element("i", {class: levelClass(point.scaled_max)})));
  const left = path.points.length - kMostPoints;
  return section(
      "spread", `How it spreads in step ${path.step}`, note,
      element(
          "div", {class: "scroll tall"},
          element(
              "table", {},
              element(
                  "thead", {},
                  element(
                      "tr", {},
                      ["", "op", "module", "largest ULP", "scaled",
                       ""].map((text) => element("th", {scope: "col"}, text)))),
              element("tbody", {}, path.points.slice(0, kMostPoints).map(row)))),
      left > 0 ? caption(`${grouped(left)} more ops are in the JSON document.`) : null);
}
