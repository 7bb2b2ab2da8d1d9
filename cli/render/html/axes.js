// On which indices of each dimension elements differ.
import {create} from "d3-selection";

import {element} from "./dom.js";
import {grouped} from "./numbers.js";

const kWidth = 120;
const kHeight = 10;

/** Whether the report lists only the first of several indices that differ. */
function isCut({size, differing, indices}) {
  return Number(differing) !== Number(size) && Number(differing) > indices.length;
}

/**
 * All of a dimension, or the indices that differ. What comes after the last one that the report
 * lists is not known, and has a frame only.
 */
function draw(axis) {
  const size = Number(axis.size);
  const known = isCut(axis) ? (kWidth * (Number(axis.indices.at(-1)) + 1)) / size : kWidth;
  const svg = create("svg")
                  .attr("class", "dimension")
                  .attr("width", kWidth)
                  .attr("height", kHeight)
                  .attr("viewBox", `0 0 ${kWidth} ${kHeight}`)
                  .attr("preserveAspectRatio", "none")
                  .attr("aria-hidden", "true");
  svg.append("rect").attr("class", "ground").attr("width", known).attr("height", kHeight);
  if (known < kWidth)
    svg.append("rect")
        .attr("class", "unlisted")
        .attr("x", known)
        .attr("y", 0.5)
        .attr("width", kWidth - known - 0.5)
        .attr("height", kHeight - 1);
  if (Number(axis.differing) === size) {
    svg.append("rect").attr("class", "differs").attr("width", kWidth).attr("height", kHeight);
  } else {
    svg.selectAll("rect.differs")
        .data(axis.indices)
        .enter()
        .append("rect")
        .attr("class", "differs")
        .attr("x", (index) => (kWidth * Number(index)) / size)
        .attr("width", Math.max(kWidth / size, 1.5))
        .attr("height", kHeight);
  }
  return svg.node();
}

function wordsOf(axis) {
  const count = `${grouped(axis.differing)} of ${grouped(axis.size)}`;
  if (Number(axis.differing) === Number(axis.size)) return count;
  return `${count}: ${axis.indices.join(", ")}${isCut(axis) ? ", …" : ""}`;
}

export function axesOf(axes) {
  if (axes.length === 0) return null;
  return element(
      "figure", {}, element("figcaption", {}, "Indices with elements that differ, by dimension"),
      element(
          "table", {class: "axes"},
          axes.slice(0, 16).map(
              (axis, dimension) => element(
                  "tr", {}, element("th", {scope: "row"}, `dim ${dimension}`),
                  element("td", {}, draw(axis)), element("td", {}, wordsOf(axis))))));
}
