// Settings in which the runs differ.
import {caption, code, element, section, table} from "./dom.js";
import {counted} from "./numbers.js";
import {whenOf} from "./words.js";

const kMostRows = 300;

function rows(settings) {
  return settings.slice(0, kMostRows)
      .map(
          (setting) => [
              [
                code(setting.key, 200),
                whenOf(setting) === "" ? null :
                                         element("span", {class: "when"}, ` ${whenOf(setting)}`)
              ],
              code(setting.reference ?? "(unset)", 300),
              code(setting.candidate ?? "(unset)", 300)]);
}

function tableOf(settings) {
  return [
    table({class: "settings"}, ["setting", "reference", "candidate"], rows(settings)),
    settings.length > kMostRows ? caption(counted(settings.length - kMostRows, "more setting")) :
                                  null
  ];
}

export function settingsOf(report) {
  const [matter, rest] = [true, false].map(
      (can) => report.environment.filter((setting) => setting.can_change_bits === can));
  return section(
      "settings", "Settings that differ",
      matter.length === 0 ? null : [caption("These can change bits:"), tableOf(matter)],
      rest.length === 0 ?
          null :
          element(
              "details", {open: matter.length === 0},
              element(
                  "summary", {},
                  `${
                      counted(
                          rest.length,
                          matter.length === 0 ? "setting" :
                                                "more setting")} that cannot change bits`),
              tableOf(rest)));
}
