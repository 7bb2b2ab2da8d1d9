// Lines over steps.
import {extent} from "d3-array";
import {axisBottom, axisLeft} from "d3-axis";
import {scaleLinear, scaleLog} from "d3-scale";
import {create} from "d3-selection";
import {line} from "d3-shape";

import {scientific, short} from "./numbers.js";

const kHeight = 130;
const kMargin = {
  left: 58,
  right: 10,
  top: 8,
  bottom: 20
};
const kMostDots = 60;

function widened([low, high], logarithmic) {
  if (low !== high) return [low, high];
  return logarithmic ?
      [low / 2, high * 2] :
      [low - Math.max(Math.abs(low) * 1e-3, 1e-12), high + Math.max(Math.abs(high) * 1e-3, 1e-12)];
}

/**
 * A chart of `series`, each {name, points: [[step, value], ...]}. In a logarithmic one, values that
 * are not positive are left out.
 */
export function chart(series, {width, label, logarithmic}) {
  const drawable = series.map(
      ({name, points}) => ({
        name,
        points: points.filter(([, value]) => Number.isFinite(value) && (!logarithmic || value > 0))
      }));
  const all = drawable.flatMap(({points}) => points);
  if (all.length === 0) return null;
  const x = scaleLinear().domain(widened(extent(all, ([step]) => step), false)).range([
    kMargin.left, width - kMargin.right
  ]);
  const y = (logarithmic ? scaleLog() : scaleLinear())
                .domain(widened(extent(all, ([, value]) => value), logarithmic))
                .range([kHeight - kMargin.bottom, kMargin.top])
                .nice();
  const svg = create("svg")
                  .attr("class", "chart")
                  .attr("width", width)
                  .attr("height", kHeight)
                  .attr("role", "img")
                  .attr("aria-label", label);
  const steps = x.ticks(Math.max(Math.floor(width / 70), 2)).filter(Number.isInteger);
  svg.append("g")
      .attr("class", "axis")
      .attr("transform", `translate(0,${kHeight - kMargin.bottom})`)
      .call(axisBottom(x).tickValues(steps).tickFormat(String).tickSizeOuter(0));
  // A logarithmic axis has ticks at powers of ten, four or five of them.
  const powers = logarithmic ?
      y.ticks().filter((value) => Number.isInteger(Math.round(Math.log10(value) * 1e6) / 1e6)) :
      [];
  const ticks = powers.length > 1 ?
      powers.filter((_, index) => index % Math.ceil(powers.length / 5) === 0) :
      y.ticks(4).slice(0, 5);
  const format = !logarithmic                                ? y.tickFormat(5) :
      ticks.some((tick) => short(tick) === scientific(tick)) ? scientific :
                                                               short;
  svg.append("g")
      .attr("class", "axis grid")
      .attr("transform", `translate(${kMargin.left},0)`)
      .call(axisLeft(y)
                .tickValues(ticks)
                .tickFormat(format)
                .tickSizeOuter(0)
                .tickSizeInner(-(width - kMargin.left - kMargin.right))
                .tickPadding(6));
  const path = line().x(([step]) => x(step)).y(([, value]) => y(value));
  drawable.forEach(({name, points}, index) => {
    svg.append("path")
        .attr("class", `line line-${index}`)
        .attr("d", path(points))
        .append("title")
        .text(name);
    if (points.length > kMostDots) return;
    svg.selectAll(`circle.line-${index}`)
        .data(points)
        .enter()
        .append("circle")
        .attr("class", `line-${index}`)
        .attr("cx", ([step]) => x(step))
        .attr("cy", ([, value]) => y(value))
        .attr("r", 2.5)
        .append("title")
        .text(([step, value]) => `${name}, step ${step}: ${value}`);
  });
  return svg.node();
}
