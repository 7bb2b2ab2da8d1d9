// How the difference grows from step to step.
import {chart} from "./chart.js";
import {caption, element, section} from "./dom.js";
import {exact, grouped, nineDigits, short} from "./numbers.js";
import {numeric} from "./report.js";
import {table} from "./table.js";

function figure(title, series, logarithmic, legend) {
  const holder = element("div", {class: "holder"});
  const made = element("figure", {}, element("figcaption", {}, title, legend), holder);
  new ResizeObserver(() => {
    const drawn =
        chart(series, {width: Math.max(holder.clientWidth, 200), label: title, logarithmic});
    holder.replaceChildren(...(drawn === null ? [caption("nothing to draw")] : [drawn]));
  }).observe(holder);
  return made;
}

function charts(growth) {
  if (growth.length < 2) return null;
  const of = (name, read) =>
      ({name, points: growth.map((point) => [Number(point.step), numeric(read(point))])});
  const losses = growth.some((point) => point.loss !== null);
  const key = (index, name) => element("span", {class: `key line-${index}`}, name);
  return element(
      "div", {class: "charts"},
      figure("Largest ULP distance", [of("largest ULP", (point) => point.ulp_max)], true),
      figure("Largest scaled difference", [of("scaled", (point) => point.scaled_max)], true),
      losses ? figure(
                   "Loss",
                   [
                     of("reference", (point) => point.loss?.reference),
                     of("candidate", (point) => point.loss?.candidate)
                   ],
                   false, [key(0, "reference"), key(1, "candidate")]) :
               null);
}

/** Both losses, with all digits where fewer would make different ones look equal. */
function lossCells(loss) {
  if (loss === null) return ["", ""];
  const both = [loss.reference, loss.candidate];
  const [reference, candidate] = both.map(nineDigits);
  return reference === candidate && both[0] !== both[1] ? both.map(exact) : [reference, candidate];
}

function distanceCells({step, ulp_max: ulp, scaled_max: scaled}) {
  return [String(step), ulp === null ? "" : grouped(ulp), scaled === null ? "" : short(scaled)];
}

function values(growth) {
  const distances = ["step", "largest ULP", "scaled"];
  if (growth.every((point) => point.loss === null))
    return table({}, distances, growth, distanceCells, [0, 1, 2]);
  const cells = (point) => [...distanceCells(point), ...lossCells(point.loss)];
  return table({}, [...distances, "loss, reference", "candidate"], growth, cells, [0, 1, 2, 3, 4]);
}

export function growthOf(report) {
  const {growth} = report;
  if (growth.length === 0) return null;
  return section(
      "growth", "Growth over steps", charts(growth),
      element(
          "details", {open: growth.length < 9}, element("summary", {}, "values"), values(growth)));
}
