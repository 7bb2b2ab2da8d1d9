// How the difference grows from step to step.
import {chart} from "./chart.js";
import {caption, element, section} from "./dom.js";
import {exact, grouped, short} from "./numbers.js";
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

function cells({step, ulp_max: ulp, scaled_max: scaled, loss}) {
  return [
    String(step), ulp === null ? "" : grouped(ulp), scaled === null ? "" : short(scaled),
    loss === null ? "" : exact(loss.reference), loss === null ? "" : exact(loss.candidate)
  ];
}

export function growthOf(report) {
  const {growth} = report;
  if (growth.length === 0) return null;
  const headings = ["step", "largest ULP", "scaled", "loss, reference", "candidate"];
  return section(
      "growth", "Growth over steps", charts(growth),
      element(
          "details", {open: growth.length < 9}, element("summary", {}, "values"),
          table({}, headings, growth, cells, [0, 1, 2, 3, 4])));
}
