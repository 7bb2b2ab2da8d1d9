// Where the models of the two runs differ.
import {code, section} from "./dom.js";
import {table} from "./table.js";

function placeOf({what, path, root}) {
  const name = path === "" ? root : path;
  return what === "shape" || what === "tensor" ? name : `${what} of ${name}`;
}

function cells(model) {
  return [placeOf(model), model.reference ?? "(none)", model.candidate ?? "(none)"].map(
      (text) => code(text, 300));
}

/** A row for each difference; null where there is none. */
export function modelsTableOf(report) {
  if (report.models.length === 0) return null;
  return section(
      "models", "Models that differ",
      table({class: "models"}, ["", "reference", "candidate"], report.models, cells));
}
