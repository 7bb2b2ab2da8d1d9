// The modules that have findings, as a tree of their dotted paths.
import {breakable, button, caption, element, section, shown} from "./dom.js";
import {moduleKey} from "./filter.js";
import {levelClass} from "./levels.js";
import {counted, grouped, short} from "./numbers.js";
import {isOfFiles, largestScaled, largestUlp} from "./report.js";

const kMostNodes = 250;
const kMostDepth = 24;
const kMostName = 120;

function newNode(name, key) {
  return {
    name,
    key,
    type: null,
    children: new Map(),
    findings: 0,
    first: false,
    ulp: null,
    scaled: null,
    order: null
  };
}

function raise(node, what, value) {
  if (value !== null && (node[what] === null || Number(value) > Number(node[what])))
    node[what] = value;
}

/** The parts of a path; what is deeper than the tree goes is one part. */
function partsOf(path) {
  const parts = path.split(".", kMostDepth);
  const taken = parts.join(".").length;
  if (taken < path.length) parts.push(path.slice(taken + 1));
  return parts;
}

/** The node of a module, made where it is missing. */
function nodeAt(roots, root, module) {
  if (!roots.has(root))
    roots.set(root, newNode(root === "" ? "(no root module)" : root, `${root}\n`));
  let node = roots.get(root);
  const path = [];
  for (const part of module === "" ? [] : partsOf(module)) {
    path.push(part);
    if (!node.children.has(part))
      node.children.set(part, newNode(part, `${root}\n${path.join(".")}`));
    node = node.children.get(part);
  }
  return node;
}

function addFinding(roots, finding, isFirst) {
  let node = nodeAt(roots, finding.root, finding.module ?? "");
  if (finding.module === null) {
    if (!node.children.has("\n-"))
      node.children.set("\n-", newNode("no module", moduleKey(finding)));
    node = node.children.get("\n-");
  }
  node.type ??= finding.module_type;
  node.findings += 1;
  node.first ||= isFirst;
  raise(node, "ulp", largestUlp(finding));
  raise(node, "scaled", largestScaled(finding));
}

/**
 * The modules that the difference reaches, in order, where there is one root that they can be of.
 */
function addPath(roots, report) {
  const named = [...roots.keys()].filter((name) => name !== "");
  if (report.path === null || named.length !== 1) return;
  const [root] = named;
  let order = 0;
  for (const point of report.path.points.slice(0, 400)) {
    if (point.module === "") continue;
    const node = nodeAt(roots, root, point.module === root ? "" : point.module);
    node.order ??= ++order;
    raise(node, "ulp", point.ulp_max);
    raise(node, "scaled", point.scaled_max);
  }
}

function treeOf(report) {
  const roots = new Map();
  for (const finding of report.findings)
    addFinding(roots, finding, report.first !== null && finding.number === 0);
  addPath(roots, report);
  return roots;
}

/** A node whose only content is one child is shown with it: layer3.0.shortcut. */
function joined(node) {
  let name = node.name;
  let last = node;
  while (last.findings === 0 && last.order === null && last.children.size === 1) {
    const [child] = last.children.values();
    if (child.name === "no module") break;
    name += `${last === node && node.key.endsWith("\n") ? ": " : "."}${child.name}`;
    last = child;
  }
  return {name, node: last};
}

class Tree {
  constructor(state) {
    this.state = state;
    this.nodes = 0;
    this.leftOut = 0;
    this.numbered = false;
    this.buttons = new Map();
  }

  list(children) {
    const items = [...children].map((child) => this.item(child)).filter(Boolean);
    return items.length === 0 ? null : element("ul", {}, items);
  }

  item(child) {
    if (this.nodes >= kMostNodes) {
      this.leftOut += 1;
      return null;
    }
    this.nodes += 1;
    const {name, node} = joined(child);
    this.numbered ||= node.order !== null;
    return element("li", {}, this.row(name, node), this.list(node.children.values()));
  }

  row(name, node) {
    const choose = () =>
        this.state.narrow({module: this.state.filter.module === node.key ? null : node.key});
    const made = button(
        {class: "module", "aria-pressed": "false"}, choose,
        element("span", {class: "name"}, breakable(shown(name, kMostName))),
        node.type === null ? null : element("span", {class: "type"}, shown(node.type, 40)),
        node.first ? element("span", {class: "start"}, "starts here") : null,
        node.order === null ?
            null :
            element(
                "span",
                {class: "order", title: "its place among the modules that the difference reaches"},
                `→ ${node.order}`),
        element(
            "span", {class: "measures"},
            node.findings === 0 ?
                null :
                element("span", {class: "count"}, counted(node.findings, "finding")),
            node.ulp === null ? null : element("span", {class: "far"}, `${grouped(node.ulp)} ULP`),
            node.scaled === null ?
                null :
                element(
                    "i", {class: levelClass(node.scaled), title: `${short(node.scaled)} scaled`})));
    this.buttons.set(node.key, made);
    return made;
  }

  mark() {
    for (const [key, made] of this.buttons)
      made.setAttribute("aria-pressed", String(key === this.state.filter.module));
  }
}

export function modulesOf(report, state) {
  if (isOfFiles(report) || report.findings.length === 0) return null;
  const tree = new Tree(state);
  const list = tree.list(treeOf(report).values());
  list.className = "tree";
  state.watch(() => tree.mark());
  const numbered = !tree.numbered ?
      "" :
      ` → numbers are the order in which the difference reaches modules in step ${
          report.path.step}.`;
  return section(
      "modules", "Modules with findings",
      caption(`A module filters the list of findings.${numbered}`), list,
      tree.leftOut === 0 ?
          null :
          caption(`The first ${kMostNodes} modules are shown; the search finds the others.`));
}
