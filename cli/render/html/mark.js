// Equal or not, in a character: color alone says nothing.
import {element} from "./dom.js";

const kSigns = {
  "only in candidate": "+",
  "only in reference": "−"
};

export function mark(equal, note) {
  return element(
      "span", {class: equal ? "equal" : "unequal", "aria-hidden": "true"},
      kSigns[note] ?? (equal ? "=" : "×"));
}
