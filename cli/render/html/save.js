// The document that the page shows, as a file.
import {button} from "./dom.js";
import {documentText} from "./report.js";

function save() {
  const address = URL.createObjectURL(new Blob([documentText()], {type: "application/json"}));
  const link = document.createElement("a");
  link.href = address;
  link.download = "ulpscope-report.json";
  link.click();
  URL.revokeObjectURL(address);
}

export function saveButton() {
  return button({id: "save"}, save, "Save JSON");
}
