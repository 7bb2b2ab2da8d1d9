// Light, dark, or as the system has it.
import {element} from "./dom.js";

export function themeSwitch() {
  const made = element(
      "select", {id: "theme", "aria-label": "Theme"},
      ["system", "light", "dark"].map((theme) => element("option", {value: theme}, theme)));
  made.addEventListener("change", () => {
    document.documentElement.dataset.theme = made.value;
  });
  return made;
}
