// Settings in which the runs differ.
import {caption, code, element, section} from "./dom.js";
import {counted} from "./numbers.js";
import {table} from "./table.js";
import {whenOf} from "./words.js";

function cells(setting) {
  const when = whenOf(setting);
  return [
    [code(setting.key, 200), when === "" ? null : element("span", {class: "when"}, ` ${when}`)],
    code(setting.reference ?? "(unset)", 300), code(setting.candidate ?? "(unset)", 300)
  ];
}

/** A row for each setting in which the runs differ. */
export function settingsTable(settings) {
  return table({class: "settings"}, ["setting", "reference", "candidate"], settings, cells);
}

export function settingsOf(report) {
  const [matter, rest] = [true, false].map(
      (can) => report.environment.filter((setting) => setting.can_change_bits === can));
  return section(
      "settings", "Settings that differ",
      matter.length === 0 ? null : [caption("These can change bits:"), settingsTable(matter)],
      rest.length === 0 ?
          null :
          element(
              "details", {},
              element(
                  "summary", {},
                  `${
                      counted(
                          rest.length,
                          matter.length === 0 ? "setting" :
                                                "more setting")} that cannot change bits`),
              settingsTable(rest)));
}
