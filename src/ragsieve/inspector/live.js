// The form of a live page: a question, documents, one or two systems; posted to the server.

const MOST_SYSTEMS = 2;

// Documents as typed: JSON, a JSON object a line, or blocks with blank lines between.
function readDocuments(text) {
  const said = text.trim();
  if (!said) return { documents: [], form: "no documents" };
  if (said.startsWith("[")) {
    try {
      const list = JSON.parse(said);
      if (Array.isArray(list)) return { documents: list, form: "JSON" };
    } catch { /* a text may begin so, too: it is read as one */ }
  }
  const rows = said.split("\n").filter((line) => line.trim());
  if (rows.every((line) => line.trim().startsWith("{"))) {
    try {
      return { documents: rows.map((line) => JSON.parse(line)), form: "JSON lines" };
    } catch { /* the same */ }
  }
  return { documents: said.split(/\n\s*\n/).map((block) => block.trim()).filter(Boolean), form: "text, a blank line between" };
}

function drawLive(box) {
  const form = {
    question: el("input", { id: "q", type: "text", required: true, autocomplete: "off" }),
    documents: el("textarea", { id: "docs", rows: "9", spellcheck: "false", "aria-describedby": "docs-says" }),
    says: el("p", { id: "docs-says", class: "soft" }),
    systems: el("div", { class: "systems" }),
    ask: el("input", { id: "ask", type: "checkbox" }),
    token: el("input", { id: "token", type: "password", autocomplete: "off" }),
    error: el("p", { class: "error", role: "alert" }),
    button: el("button", { type: "submit", class: "go" }, "Inspect"),
    chosen: [],
  };
  const count_ = () => {
    const { documents, form: how } = readDocuments(form.documents.value);
    form.says.textContent = documents.length ? count(documents.length, "document") + " read as " + how
      : "JSON, JSON lines, or texts with a blank line between.";
  };
  form.documents.addEventListener("input", count_);
  count_();
  form.token.addEventListener("change", () => listSystems(form));
  box.append(el("form", { class: "panel live", novalidate: true, "aria-label": "Inspect a question", onsubmit: (event) => {
    event.preventDefault();
    inspect(form);
  } },
    el("h1", {}, "What does it keep, and why?"),
    el("div", { class: "field" }, el("label", { for: "q" }, "Question"), form.question),
    el("div", { class: "field" }, el("label", { for: "docs" }, "Documents"), form.documents, form.says),
    el("fieldset", {}, el("legend", {}, "Systems, one or two"), form.systems),
    el("div", { class: "row" },
      el("label", { for: "ask" }, form.ask, " Answer, too"),
      el("label", { for: "token" }, "Token, if the server wants one ", form.token), form.button),
    form.error));
  listSystems(form);
}

async function request(form, path, body) {
  const headers = body ? { "Content-Type": "application/json" } : {};
  if (form.token.value) headers.Authorization = "Bearer " + form.token.value;
  const reply = await fetch(path, { method: body ? "POST" : "GET", headers, body: body ? JSON.stringify(body) : undefined });
  const text = await reply.text();
  let values = null;
  try { values = JSON.parse(text); } catch { /* told below */ }
  if (reply.ok && values) return values;
  throw new Error(reply.status + ": " + oneLine(reason(values) || text || reply.statusText, 500));
}

function reason(values) {
  const said = values && (values.error?.message ?? values.error ?? values.detail ?? values.message);
  return typeof said === "string" ? said : said ? JSON.stringify(said) : "";
}

async function listSystems(form) {
  try {
    const values = await request(form, "/v1/systems");
    const list = (Array.isArray(values) ? values : values.systems || []).map((one) =>
      typeof one === "string" ? { name: one, summary: "" } : one);
    form.error.textContent = "";
    form.chosen = list.slice(0, 1).map((one) => String(one.name));
    form.systems.replaceChildren(...list.map((one, n) => systemBox(form, one, n)));
  } catch (error) {
    form.error.textContent = "The systems could not be listed: " + error.message;
  }
}

function systemBox(form, one, n) {
  const id = "system-" + n, systemName = String(one.name);
  const box = el("input", { type: "checkbox", id, checked: form.chosen.includes(systemName) });
  box.addEventListener("change", () => {
    form.chosen = form.chosen.filter((other) => other !== systemName);
    if (box.checked) form.chosen.push(systemName);
    for (const other of form.systems.querySelectorAll("input")) {
      other.disabled = !other.checked && form.chosen.length >= MOST_SYSTEMS;
    }
  });
  return el("label", { for: id, class: "system" }, box, el("span", {}, el("b", {}, oneLine(systemName, 80)),
    one.summary ? el("span", { class: "soft" }, " " + oneLine(String(one.summary), 200)) : null));
}

async function inspect(form) {
  const { documents } = readDocuments(form.documents.value);
  const wrong = !form.question.value.trim() ? "Type a question." : !form.chosen.length ? "Choose a system." : "";
  form.error.textContent = wrong;
  if (wrong) return;
  form.button.disabled = true;
  form.button.textContent = "Reading …";
  try {
    const values = await request(form, "/v1/inspect",
      { query: form.question.value, documents, systems: form.chosen, ask: form.ask.checked });
    showViews(values.views);
    document.querySelector("#views h1").setAttribute("tabindex", "-1");
    document.querySelector("#views h1").focus();
  } catch (error) {
    form.error.textContent = "The server did not inspect it: " + error.message;
  } finally {
    form.button.disabled = false;
    form.button.textContent = "Inspect";
  }
}

if (given.live) drawLive(document.getElementById("live"));
