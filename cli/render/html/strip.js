// The strip of steps: where findings are, and how far values are apart in each step.
import {isOfFiles} from "./report.js";
import {axisBottom} from "d3-axis";
import {scaleBand, scaleLinear} from "d3-scale";
import {create, select} from "d3-selection";

import {cellsOf, columnsOf, kAllOps, nameOf} from "./columns.js";
import {caption, element, section} from "./dom.js";
import {kLevels, levelClass} from "./levels.js";
import {counted, short} from "./numbers.js";
import {kPhases} from "./words.js";

const kRow = 16;
const kMostColumn = 48;
const kLabels = 76;
const kAxis = 20;
const kUsualPhases = ["data", "forward", "backward", "optimizer"];

function titleOf(cell) {
  const parts = [`${nameOf(cell.column)}, ${cell.row}`];
  if (cell.findings > 0) parts.push(counted(cell.findings, "finding"));
  if (cell.first) parts.push("the first difference");
  if (cell.scaled !== null) parts.push(`at most ${short(cell.scaled)} of the largest |reference|`);
  if (cell.findings > 0 && cell.scaled === null)
    parts.push("not measured: no bytes, or none to compare");
  if (cell.propagated) parts.push("events whose inputs differed already");
  return parts.join("; ");
}

/**
 * Left and right go from one cell with findings to the next; only one of them is in the order of
 * tabs.
 */
function moveAmong(cells, event) {
  const nodes = cells.nodes();
  const here = nodes.indexOf(event.currentTarget);
  const to = {ArrowRight: nodes[here + 1], ArrowLeft: nodes[here - 1]}[event.key];
  if (to === undefined) return false;
  cells.attr("tabindex", -1);
  select(to).attr("tabindex", 0).node().focus();
  return true;
}

function draw(report, state, width) {
  const columns = columnsOf(report, width - kLabels);
  const rows = [
    ...kPhases.filter(
        (phase) => kUsualPhases.includes(phase) ||
            report.findings.some((finding) => finding.phase === phase)),
    kAllOps
  ];
  const size = Math.min(Math.floor((width - kLabels - 1) / columns.length), kMostColumn);
  const x = scaleBand().domain(columns.map((_, index) => index)).range([
    kLabels, kLabels + size * columns.length
  ]);
  const y = scaleBand().domain(rows).range([0, kRow * rows.length]);
  const gap = size > 8 ? 2 : 1;
  const svg = create("svg")
                  .attr("width", width)
                  .attr("height", kRow * rows.length + kAxis + 4)
                  .attr("role", "group")
                  .attr("aria-label", "Findings by step and phase");
  svg.append("rect")
      .attr("class", "ground")
      .attr("x", kLabels)
      .attr("width", size * columns.length)
      .attr("height", kRow * rows.length);
  svg.selectAll("text.row")
      .data(rows)
      .enter()
      .append("text")
      .attr("class", "row")
      .attr("x", kLabels - 8)
      .attr("y", (row) => y(row) + kRow - 4)
      .text((row) => row);
  svg.append("line")
      .attr("class", "rule")
      .attr("x1", 0)
      .attr("x2", kLabels + size * columns.length)
      .attr("y1", y(kAllOps))
      .attr("y2", y(kAllOps));

  const cells = cellsOf(report, columns);
  const drawn = svg.selectAll("rect.cell")
                    .data(cells)
                    .enter()
                    .append("rect")
                    .attr(
                        "class",
                        (cell) => `cell ${
                            cell.propagated && cell.scaled === null ?
                                "propagated" :
                                levelClass(cell.scaled)}${cell.first ? " first" : ""}`)
                    .attr("x", (cell) => x(columns.indexOf(cell.column)) + gap / 2)
                    .attr("y", (cell) => y(cell.row) + 1)
                    .attr("width", size - gap)
                    .attr("height", kRow - 2);
  drawn.append("title").text(titleOf);
  const withFindings = drawn.filter((cell) => cell.findings > 0);
  withFindings.attr("role", "button")
      .attr("aria-label", titleOf)
      .attr("tabindex", (_, index) => (index === 0 ? 0 : -1));
  const choose = (cell) => state.narrow({
    phase: cell.row,
    steps: cell.column.setup ? "setup" : [cell.column.first, cell.column.last]
  });
  withFindings.each(function listen(cell) {
    this.addEventListener("click", () => choose(cell));
    this.addEventListener("keydown", (event) => {
      if (event.key === "Enter" || event.key === " ")
        choose(cell);
      else if (!moveAmong(withFindings, event))
        return;
      event.preventDefault();
      event.stopPropagation();
    });
  });
  drawAxis(svg, columns, size, kRow * rows.length);
  return {svg: svg.node(), columns};
}

/** The first step of columns, as many as there is room for. */
function drawAxis(svg, columns, size, top) {
  const steps = columns.filter((column) => !column.setup);
  const left = kLabels + (steps.length < columns.length ? size : 0);
  if (left > kLabels)
    svg.append("text")
        .attr("class", "tick")
        .attr("x", kLabels)
        .attr("y", top + 9)
        .attr("dy", "0.71em")
        .text("setup");
  if (steps.length === 0) return;
  const each = steps[0].last - steps[0].first + 1;
  const scale = scaleLinear().domain([steps[0].first, steps[0].first + each * steps.length]).range([
    left, left + size * steps.length
  ]);
  const room = Math.max(Math.floor((size * steps.length) / 40), 1);
  const middle = each === 1 ? size / 2 : 0;
  const clear = kLabels + (left > kLabels ? 44 : 0);
  const ticks = (steps.length === 1 ? [steps[0].first] : scale.ticks(room))
                    .filter(
                        (step) => Number.isInteger(step) && step <= steps[steps.length - 1].last &&
                            scale(step) + middle >= clear);
  svg.append("g")
      .attr("class", "axis")
      .attr("transform", `translate(${middle},${top})`)
      .call(axisBottom(scale).tickValues(ticks).tickFormat(String).tickSizeOuter(0));
}

function legend(report) {
  const swatch = (kind, text) =>
      element("span", {class: "swatch"}, element("i", {class: kind}), text);
  return element(
      "p", {class: "legend"}, "largest |d| / max |reference|: ",
      kLevels.map((text, index) => swatch(`level-${index}`, text)),
      swatch("level-unknown", "not measured"),
      report.propagated.events > 0 ? swatch("propagated", "inherited only") : null,
      report.first === null ? null : swatch("first", "first difference"));
}

export function stripOf(report, state) {
  if (isOfFiles(report) || (report.findings.length === 0 && report.growth.length === 0))
    return null;
  const picture = element("div", {class: "strip"});
  const note = caption();
  const redraw = () => {
    const {svg, columns} = draw(report, state, Math.max(Math.floor(picture.clientWidth), 240));
    picture.replaceChildren(svg);
    const wide = columns.find((column) => !column.setup);
    const each = wide === undefined ? 1 : wide.last - wide.first + 1;
    note.textContent = each > 1 ? `A column is ${each} steps.` : "";
  };
  new ResizeObserver(redraw).observe(picture);
  return section("steps", "Steps and phases", picture, note, legend(report));
}
