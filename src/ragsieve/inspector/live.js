// The form of a live page: a question, documents, one or two systems; posted to the server.

const MOST_SYSTEMS = 2;

// Documents as typed: JSON, a JSON value a line, or text: one document, unless blank lines divide it.
function readDocuments(text, divided) {
  const said = text.trim();
  if (!said) return { documents: [], form: "no documents" };
  const whole = jsonOf(said);
  if (whole) return { documents: Array.isArray(whole) ? whole.map(asDocument) : [asDocument(whole, said)], form: "JSON" };
  const rows = said.split("\n").filter((line) => line.trim());
  const lines = rows.map((line) => line.trim().startsWith("{") && jsonOf(line));
  if (lines.every(Boolean)) return { documents: lines.map(asDocument), form: "JSON lines" };
  const blocks = said.split(/\n\s*\n/).map((block) => block.trim()).filter(Boolean);
  if (divided) return { documents: blocks, form: "text, a blank line between", blocks: blocks.length };
  return { documents: [said], form: "text", blocks: blocks.length };
}

// An object or an array; null of other texts, which may begin like one.
function jsonOf(text) {
  try {
    const value = JSON.parse(text);
    return typeof value === "object" ? value : null;
  } catch {
    return null;
  }
}

// A JSON value as the server takes a document: what has no text of its own, as an API's reply, is one.
function asDocument(value, said) {
  if (typeof value === "string" || typeof value?.text === "string") return value;
  return typeof said === "string" ? said : JSON.stringify(value);
}

const form = {};

function drawLive(box) {
  const link = linked();
  Object.assign(form, {
    question: el("input", { id: "q", type: "text", required: true, autocomplete: "off", value: link.question }),
    documents: el("textarea", { id: "docs", rows: "7", spellcheck: "false", "aria-describedby": "docs-says", value: link.documents }),
    says: el("p", { id: "docs-says", class: "soft" }),
    divided: el("input", { id: "divided", type: "checkbox", checked: link.divided }),
    systems: el("fieldset", { hidden: true }),
    ask: el("input", { id: "ask", type: "checkbox", checked: link.ask }),
    token: el("input", { id: "token", type: "password", autocomplete: "off" }),
    error: el("p", { class: "error", role: "alert" }),
    button: el("button", { type: "submit", class: "go" }, "Inspect"),
    chosen: link.systems,
    at: link.at,
  });
  form.wants = el("div", { class: "field", hidden: true }, el("label", { for: "token" }, "Token"), form.token);
  form.blocks = el("label", { for: "divided", class: "check", hidden: true }, form.divided, " Blank lines divide documents");
  form.documents.addEventListener("input", countDocuments);
  form.documents.addEventListener("paste", () => { // another text: nobody asked to divide this one
    const { selectionStart, selectionEnd, value } = form.documents;
    if (selectionEnd - selectionStart === value.length) form.divided.checked = false;
  });
  form.divided.addEventListener("change", countDocuments);
  form.token.addEventListener("change", listSystems);
  form.box = el("details", { class: "panel live", open: true }, el("summary", {}, "Question and documents"),
    el("form", { novalidate: true, "aria-label": "Inspect a question", onsubmit: (event) => {
      event.preventDefault();
      inspect();
    } },
      el("h1", {}, "What does it keep, and why?"),
      el("div", { class: "field" }, el("label", { for: "q" }, "Question"), form.question),
      el("div", { class: "field" }, el("label", { for: "docs" }, "Documents"), form.documents, form.says, form.blocks),
      form.systems, form.wants, form.error,
      el("div", { class: "row" }, form.button,
        el("button", { type: "button", onclick: tryExample }, "Try an example"),
        el("label", { for: "ask" }, form.ask, " Answer, too"))));
  form.savings = el("details", { class: "panel", hidden: true }, el("summary", {}, "Savings"));
  box.append(form.box, form.savings);
  countDocuments();
  listSystems();
}

function countDocuments() {
  const { documents, form: how, blocks = 0 } = readDocuments(form.documents.value, form.divided.checked);
  form.says.textContent = documents.length ? count(documents.length, "document") + ", read as " + how
    : "A text, JSON, or JSON lines.";
  form.blocks.hidden = blocks < 2;
}

const EXAMPLE = ["Who drew the first design of the Eiffel Tower?", `The Eiffel Tower stands on the Champ de Mars in Paris. It was built for the World's Fair of 1889. More than six million people visit it in a normal year.

Maurice Koechlin was a structural engineer from Alsace. In 1884 he and his colleague Émile Nouguier drew the first design of the Eiffel Tower. He also worked out the iron frame inside the Statue of Liberty.

The Garabit viaduct is a railway bridge in the south of France. It opened to traffic in 1885. Trains still cross it.`, true];

function tryExample() {
  [form.question.value, form.documents.value, form.divided.checked] = EXAMPLE;
  form.at = [];
  countDocuments();
  inspect();
}

// The form as a link keeps it; never the token.
function formState() {
  return { question: form.question.value, documents: form.documents.value, divided: form.divided.checked,
    systems: form.chosen, ask: form.ask.checked };
}

async function request(path, body) {
  const headers = body ? { "Content-Type": "application/json" } : {};
  if (form.token.value) headers.Authorization = "Bearer " + form.token.value;
  const reply = await fetch(path, { method: body ? "POST" : "GET", headers, body: body ? JSON.stringify(body) : undefined });
  const text = await reply.text();
  let values = null;
  try { values = JSON.parse(text); } catch { /* told below */ }
  if (reply.ok && values) return values;
  if (reply.status === 401) form.wants.hidden = false;
  throw new Error(reply.status + ": " + oneLine(reason(values) || text || reply.statusText, 500));
}

function reason(values) {
  const said = values && (values.error?.message ?? values.error ?? values.detail ?? values.message);
  return typeof said === "string" ? said : said ? JSON.stringify(said) : "";
}

async function listSystems() {
  try {
    const values = await request("/v1/systems");
    const list = (Array.isArray(values) ? values : values.systems || []).map((one) =>
      typeof one === "string" ? { name: one, summary: "" } : one);
    const names = list.map((one) => String(one.name));
    form.error.textContent = "";
    form.chosen = form.chosen.filter((name) => names.includes(name)).slice(0, MOST_SYSTEMS);
    if (!form.chosen.length) form.chosen = names.slice(0, 1);
    form.systems.hidden = list.length < 2; // one alone needs no choice
    form.systems.replaceChildren(el("legend", {}, "Systems, one or two"), el("div", { class: "systems" }, list.map(systemBox)));
    limitSystems();
    listSavings();
  } catch (error) {
    form.error.textContent = "The systems could not be listed: " + error.message;
  }
}

// Tokens by day, route and tool, where the server keeps them; costs at the price under Settings.
async function listSavings() {
  let stats;
  try { stats = await request("/stats"); } catch { return; } // it keeps none
  const price = Number(document.getElementById("price").value) || 0;
  const cells = (row) => {
    const saved = row.tokens_before - row.tokens_after;
    return [num(row.tokens_before), num(row.tokens_after), num(saved), ...(price > 0 ? [money(saved * price / 1e6)] : [])];
  };
  const rows = stats.rows.map((row) => [row.day, row.route, row.tool || "documents", num(row.requests), ...cells(row)]);
  const heads = ["day", "route", "tool", "requests", "tokens before", "after", "saved", ...(price > 0 ? ["cost saved"] : [])];
  form.savings.hidden = false;
  form.savings.replaceChildren(el("summary", {}, "Savings: " + num(stats.tokens_before - stats.tokens_after) + " tokens"),
    table("Savings", heads, [...rows, ["all", "", "", "", ...cells(stats)]].map((row) => row.map((cell) => oneLine(cell, 100)))));
}

function systemBox(one, n) {
  const id = "system-" + n, systemName = String(one.name);
  const box = el("input", { type: "checkbox", id, checked: form.chosen.includes(systemName) });
  box.addEventListener("change", () => {
    form.chosen = form.chosen.filter((other) => other !== systemName);
    if (box.checked) form.chosen.push(systemName);
    limitSystems();
  });
  return el("label", { for: id, class: "system" }, box, el("span", {}, el("b", {}, oneLine(systemName, 80)),
    one.summary ? el("span", { class: "soft" }, " " + oneLine(String(one.summary), 200)) : null));
}

function limitSystems() {
  for (const box of form.systems.querySelectorAll("input")) {
    box.disabled = !box.checked && form.chosen.length >= MOST_SYSTEMS;
  }
}

async function inspect() {
  const { documents } = readDocuments(form.documents.value, form.divided.checked);
  const wrong = !form.question.value.trim() ? "Type a question." : !form.chosen.length ? "Choose a system." : "";
  form.error.textContent = wrong;
  if (wrong) return;
  form.button.disabled = true;
  form.button.textContent = "Reading …";
  try {
    const values = await request("/v1/inspect",
      { query: form.question.value, documents, systems: form.chosen, ask: form.ask.checked });
    showViews(values.views, form.at);
    form.at = []; // a link's cuts are of its own run
    form.box.open = false;
    const heading = document.querySelector("#views h1");
    heading.setAttribute("tabindex", "-1");
    scrollTo(0, 0);
    heading.focus({ preventScroll: true });
  } catch (error) {
    form.error.textContent = "The server did not inspect it: " + error.message;
  } finally {
    form.button.disabled = false;
    form.button.textContent = "Inspect";
  }
}

if (given.live) {
  drawLive(document.getElementById("live"));
  document.getElementById("price").addEventListener("input", listSavings);
}
