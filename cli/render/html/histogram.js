// How many elements have which ULP distance: a column for each power of two.
import {max} from "d3-array";
import {axisBottom} from "d3-axis";
import {scaleBand, scaleLinear} from "d3-scale";
import {create} from "d3-selection";

import {element} from "./dom.js";
import {grouped, short} from "./numbers.js";
import {table} from "./table.js";

const kHeight = 84;
const kBottom = 18;
const kMostWidth = 340;

/** The exponents from the first bin to the last, empty ones among them. */
function exponents(bins) {
  const at = (bin) => Math.round(Math.log2(Number(bin[0])));
  const [first, last] = [at(bins[0]), at(bins[bins.length - 1])];
  return Array.from({length: last - first + 1}, (_, index) => first + index);
}

/** "1", "256", "4e6" */
function power(exponent) {
  const value = 2 ** exponent;
  return value < 1e5 ? grouped(value) : value.toExponential(0).replace("e+", "e");
}

function draw(bins) {
  const domain = exponents(bins);
  const width = Math.min(Math.max(domain.length * 16, 60), kMostWidth);
  const x = scaleBand().domain(domain).range([4, width - 4]).paddingInner(0.15);
  const y = scaleLinear().domain([0, max(bins, (bin) => Number(bin[1]))]).range([0, kHeight - 14]);
  const svg =
      create("svg")
          .attr("class", "histogram")
          .attr("viewBox", `0 0 ${width + 16} ${kHeight + kBottom}`)
          .attr("width", width + 16)
          .attr("height", kHeight + kBottom)
          .attr("role", "img")
          .attr("aria-label", "Elements by ULP distance; the counts are in the table below");
  svg.selectAll("rect")
      .data(bins)
      .enter()
      .append("rect")
      .attr("x", (bin) => x(Math.round(Math.log2(Number(bin[0])))))
      .attr("width", x.bandwidth())
      .attr("height", (bin) => Math.max(y(Number(bin[1])), 2))
      .attr("y", (bin) => kHeight - Math.max(y(Number(bin[1])), 2))
      .append("title")
      .text((bin) => `${grouped(bin[0])} ULP and more: ${grouped(bin[1])}`);
  const every = Math.ceil(44 / x.step());
  svg.append("g")
      .attr("class", "axis")
      .attr("transform", `translate(0,${kHeight})`)
      .call(axisBottom(x)
                .tickValues(domain.filter((_, index) => index % every === 0))
                .tickFormat(power)
                .tickSizeOuter(0));
  return svg.node();
}

/** "1", "2 - 3", "4 - 7" */
function rangeOf(bin) {
  const from = Number(bin[0]);
  return from < 2 ? grouped(from) :
                    `${grouped(bin[0])} - ${
                        grouped(Number.isSafeInteger(2 * from) ? 2 * from - 1 : short(2 * from))}`;
}

export function histogramOf(bins) {
  const apart = bins.filter((bin) => Number(bin[0]) > 0);
  if (apart.length === 0) return null;
  return element(
      "figure", {},
      element("figcaption", {}, "Elements by ULP distance, without those that are equal"),
      draw(apart),
      element(
          "details", {}, element("summary", {}, "counts"),
          table({}, ["ULP", "elements"], bins, (bin) => [rangeOf(bin), grouped(bin[1])], [0, 1])));
}
