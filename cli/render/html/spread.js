// How the difference spreads from where the runs diverge to the loss.
import { code, element, section } from "./dom.js";
import { levelClass } from "./levels.js";
import { grouped, short } from "./numbers.js";

const kMostPoints = 200;

export function spreadOf(report) {
  const { path, propagated } = report;
  const note = Number(propagated.events) === 0 ? null : element("p", { class: "caption" },
    `${grouped(propagated.events)} events propagate it${propagated.steps.length === 0 ? "" : `, in steps ${propagated.steps.slice(0, 8).map(([first, last]) => (first === last ? first : `${first} - ${last}`)).join(", ")}`}`,
    propagated.note === null ? "." : `: ${propagated.note}.`);
  if (path === null) return section("spread", "How it spreads", note);
  const row = (point, index) => element("tr", {}, element("td", { class: "number" }, String(index + 1)), element("td", {}, code(point.op, 120)),
    element("td", {}, code(point.module, 160)), element("td", { class: "number" }, grouped(point.ulp_max)),
    element("td", { class: "number" }, point.scaled_max === null ? "" : short(point.scaled_max)),
    element("td", {}, element("i", { class: levelClass(point.scaled_max) })));
  const left = path.points.length - kMostPoints;
  return section("spread", `How it spreads in step ${path.step}`, note,
    element("div", { class: "scroll tall" }, element("table", {}, element("thead", {}, element("tr", {},
      ["", "op", "module", "largest ULP", "scaled", ""].map((text) => element("th", { scope: "col" }, text)))),
    element("tbody", {}, path.points.slice(0, kMostPoints).map(row)))),
    left > 0 ? element("p", { class: "caption" }, `${grouped(left)} more ops are in the JSON document.`) : null);
}
