// Elements and text. Whatever a report holds becomes a text node or an attribute, never markup.

/** Characters that the page shows of one text; the JSON document has all of it. */
export const kMostCharacters = 600;

// What controls a terminal, breaks lines or changes the direction of text.
const kSteering =
    /[\u0000-\u001f\u007f-\u009f\u061c\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff]/g;

function visible(character) {
  const code = character.charCodeAt(0).toString(16);
  return code.length > 2 ? `\\u${code.padStart(4, "0")}` : `\\x${code.padStart(2, "0")}`;
}

/**
 * A text of the report as the page shows it: of bounded length, without characters that steer what
 * is around it.
 */
export function shown(text, most = kMostCharacters) {
  const whole = String(text);
  const left = whole.length - most;
  const part = left > 0 ? whole.slice(0, most) : whole;
  const safe = part.replace(/\t/g, "  ").replace(kSteering, visible);
  return left > 0 ? `${safe}… (${left.toLocaleString("en-US")} more characters)` : safe;
}

/**
 * An element of HTML. Attributes whose value is null or false are left out; children are nodes or
 * texts.
 */
export function element(name, attributes, ...children) {
  const made = document.createElement(name);
  for (const [key, value] of Object.entries(attributes ?? {})) {
    if (value !== null && value !== undefined && value !== false)
      made.setAttribute(key, value === true ? "" : value);
  }
  made.append(...children.flat(Infinity).filter(
      (child) => child !== null && child !== undefined && child !== false));
  return made;
}

/** A button that does something. */
export function button(attributes, does, ...children) {
  const made = element("button", {type: "button", ...attributes}, ...children);
  made.addEventListener("click", does);
  return made;
}

/** A section with a heading; what it holds may be null, and then there is none. */
export function section(id, title, ...content) {
  const children = content.flat(Infinity).filter(Boolean);
  if (children.length === 0) return null;
  const heading = element("h2", {id: `${id}-title`}, title);
  return element("section", {id, "aria-labelledby": heading.id}, heading, ...children);
}

/** Code or a name, in a monospaced font. */
export function code(text, most) {
  return element("code", {}, shown(text, most));
}

/** A text that may break behind what `ends` fits. */
function breaksBehind(ends, text) {
  return text.split(ends).map((part) => [part, element("wbr")]);
}

/** The name of an op, module or tensor, which rather breaks between its parts than within one. */
export function breakable(name) {
  return breaksBehind(/(?<=::|[._])/, name);
}

/** A sentence, whose names break only where one is longer than a line. */
export function sentenceWithNames(text) {
  return text.split(/( +)/).map(
      (word) =>
          /::|_|[.][a-z]/i.test(word) ? element("span", {class: "word"}, breakable(word)) : word);
}

/** Such a name in a monospaced font. */
export function nameCode(name, most) {
  return element("code", {}, breakable(shown(name, most)));
}

/**
 * A command, which breaks between its words and folders rather than after the hyphens of an
 * option.
 */
export function commandCode(text, most) {
  const words = shown(text, most).split(/( +)/);
  return element(
      "code", {},
      words.map(
          (word, at) =>
              (at % 2 === 0 ? element("span", {class: "word"}, breaksBehind(/(?<=\/)/, word)) :
                              word)));
}

/** A quiet line of text. */
export function caption(...content) {
  return element("p", {class: "caption"}, ...content);
}

/** Pairs of a label and what it says; pairs without content are left out. */
export function facts(pairs) {
  const rows =
      pairs.filter(([, content]) => content !== null && content !== undefined && content !== "");
  if (rows.length === 0) return null;
  return element(
      "dl", {class: "facts"},
      rows.map(
          ([label, content]) =>
              element("div", {}, element("dt", {}, label), element("dd", {}, content))));
}

/** The first `most` of a list, and a line with how many more there are. */
export function bounded(list, most, show, more) {
  const children = list.slice(0, most).map(show);
  if (list.length > most) children.push(more(list.length - most));
  return children;
}
