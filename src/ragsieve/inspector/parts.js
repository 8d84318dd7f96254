// Elements, numbers and words. Texts become text nodes only: nothing in them is ever markup.

const SVG = "http://www.w3.org/2000/svg";

function put(element, attributes, children) {
  for (const [key, value] of Object.entries(attributes || {})) {
    if (value === null || value === undefined || value === false) continue;
    if (key.startsWith("on")) element.addEventListener(key.slice(2), value);
    else if (key === "value") element.value = value;
    else element.setAttribute(key, value === true ? "" : String(value));
  }
  element.append(...children.flat().filter((child) => child !== null && child !== undefined && child !== false));
  return element;
}

function el(tag, attributes, ...children) {
  return put(document.createElement(tag), attributes, children);
}

function svg(tag, attributes, ...children) {
  return put(document.createElementNS(SVG, tag), attributes, children);
}

function num(value, digits = 3) {
  if (typeof value !== "number") return String(value);
  return value.toLocaleString("en", { maximumFractionDigits: digits });
}

function score(value) {
  const size = Math.abs(value);
  return size && (size < 0.001 || size >= 1e6) ? value.toExponential(2) : num(value, size < 1 ? 4 : 3);
}

// Of a long text the first characters, without half of a pair.
function head(text, chars) {
  if (text.length <= chars) return text;
  const last = text.charCodeAt(chars - 1);
  return text.slice(0, last >= 0xd800 && last < 0xdc00 ? chars - 1 : chars);
}

function oneLine(text, chars) {
  const line = head(text, 4 * chars).replace(/\s+/g, " ").trim();
  return line.length > chars || text.length > 4 * chars ? head(line, chars).trim() + "…" : line;
}

// A text that may be 10 MB: its beginning, and a button for each further part.
const PART = 20000;
function longText(text, first = 2000) {
  const box = el("span", { class: "long" });
  let shown = 0;
  const more = (chars) => {
    const part = head(text.slice(shown), chars);
    box.append(part);
    shown += part.length;
  };
  more(text.length <= first * 1.5 ? text.length : first);
  return [box, shown < text.length && moreButton(() => {
    more(PART);
    return text.length - shown;
  }, text.length - shown, "character")];
}

// A button that shows a part more, and how much is left, until nothing is.
function moreButton(show, left, what) {
  const says = (n) => "Show more: " + count(n, what) + " left";
  const button = el("button", { type: "button", class: "more" }, says(left));
  button.addEventListener("click", (event) => {
    event.stopPropagation();
    const rest = show();
    if (rest > 0) button.textContent = says(rest);
    else button.remove();
  });
  return button;
}

function titleOf(doc) {
  return oneLine(doc.title || doc.source, 120) || "Document " + oneLine(doc.id, 120);
}

function ordinal(n) {
  const teen = n % 100 > 10 && n % 100 < 14;
  return n + (teen ? "th" : { 1: "st", 2: "nd", 3: "rd" }[n % 10] || "th");
}

function scroller(label, ...children) {
  return el("div", { class: "scroll", role: "region", tabindex: "0", "aria-label": label }, ...children);
}

function table(label, heads, rows) {
  return scroller(label, el("table", {},
    el("thead", {}, el("tr", {}, heads.map((h) => el("th", { scope: "col" }, h)))),
    el("tbody", {}, rows.map((cells) => el("tr", {}, cells.map((cell, n) =>
      n ? el("td", {}, cell) : el("th", { scope: "row" }, cell)))))));
}
