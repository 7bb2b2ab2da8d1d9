// Tables of a bounded number of rows.
import {caption, element} from "./dom.js";
import {counted} from "./numbers.js";

const kMostRows = 200;

/**
 * A table with a row for each of `items`, and how many more there are. `cells` makes texts, nodes
 * or td elements of an item and its index; `numbers` are the columns aligned to the right.
 */
export function table(attributes, headings, items, cells, numbers = []) {
  const aligned = (column) => (numbers.includes(column) ? {class: "number"} : {});
  const head =
      headings.map((text, column) => element("th", {scope: "col", ...aligned(column)}, text));
  const cellOf = (content, column) =>
      content instanceof HTMLTableCellElement ? content : element("td", aligned(column), content);
  const rows = items.slice(0, kMostRows)
                   .map((item, index) => element("tr", {}, cells(item, index).map(cellOf)));
  const left = items.length - kMostRows;
  return element(
      "div", {},
      element(
          "div", {class: "scroll"},
          element(
              "table", attributes, element("thead", {}, element("tr", {}, head)),
              element("tbody", {}, rows))),
      left > 0 ? caption(`${counted(left, "more row")} in the JSON document.`) : null);
}
