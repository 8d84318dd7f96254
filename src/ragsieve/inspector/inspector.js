// The page: a column for each view, each with its own numbers, context, documents and stages.

const runs = [];

function makeRun(view, number, all, at) {
  const run = { view, id: "v" + number, at: {}, marks: new Map(), whys: [], spansOf: {}, tallies: [], folds: [],
    bySegment: new Map(), shown: STEP, changed: false };
  unfold(view);
  for (const span of view.spans) {
    const doc = view.segments[span.segment][0];
    (run.spansOf[doc] = run.spansOf[doc] || []).push(span);
    run.bySegment.set(span.segment, span);
  }
  run.label = (oneLine(view.name, 100) || "Run") + (number && view.name === all[0].name ? " (" + (number + 1) + ")" : "");
  run.keptBefore = new Set(view.kept);
  run.controls = controlsOf(view);
  reset(run, at);
  return run;
}

// What cannot be cut again has no slider.
function unfold(view) {
  for (const step of view.steps) {
    if (step.cuts && !recuts(step)) delete step.cuts;
  }
}

function drawRun(run) {
  const { view } = run;
  run.parts = { stats: el("dl", { class: "stats" }), cost: el("p", { class: "soft" }), context: el("div"),
    banner: el("div", { class: "banner", role: "status" }), many: el("span", { class: "tally" }) };
  const id = run.id + "-name";
  const docs = el("div", { class: "docs" });
  drawDocuments(run, docs);
  const column = el("section", { class: "run", id: run.id, "aria-labelledby": id },
    el("h2", { id, class: "name" }, run.label),
    run.parts.stats, run.parts.cost,
    el("div", { class: "sides" },
      el("div", { class: "left" },
        el("div", { class: "panel reads", role: "group", tabindex: "0", "aria-labelledby": run.id + "-context" },
          el("h3", { id: run.id + "-context" }, "What the generator reads ", run.parts.many), run.parts.context, drawAnswer(run)),
        view.warnings.length ? el("div", { class: "panel warn" }, el("h3", {}, "Warnings"), lines(view.warnings)) : null,
        drawControls(run)),
      el("div", { class: "panel", role: "group", "aria-labelledby": run.id + "-docs" },
        el("div", { class: "lead" }, el("h3", { id: run.id + "-docs" }, "Documents ", el("span", { class: "tally" }, num(view.documents.length))),
          view.spans.length ? scoresButton(docs) : null), legend(), docs)),
    drawStories(run),
    drawStages(run));
  paint(run);
  return column;
}

function drawAnswer(run) {
  const { answer } = run.view;
  if (answer === null) return null;
  run.parts.stale = el("p", { class: "soft", hidden: true }, "Of the run, not of this preview.");
  return el("div", { class: "answer" }, el("h3", {}, "Answer"), el("p", { dir: "auto" }, ...longText(answer || "(nothing)", 2000)), run.parts.stale);
}

function scoresButton(docs) {
  const button = el("button", { type: "button", class: "small", "aria-pressed": "false", onclick: () => {
    button.setAttribute("aria-pressed", String(docs.classList.toggle("scores")));
  } }, "Show scores");
  return button;
}

function drawDocuments(run, docs) {
  let done = 0;
  const some = () => {
    const to = Math.min(run.view.documents.length, done + 100);
    const made = [];
    for (; done < to; done++) made.push(drawDocument(run, done));
    if (button) button.before(...made); else docs.append(...made);
    return run.view.documents.length - done;
  };
  let button = null;
  const left = some();
  if (left > 0) docs.append(button = moreButton(() => { const rest = some(); paint(run); return rest; }, left, "document"));
  if (!run.view.documents.length) docs.append(el("p", { class: "soft" }, "There were no documents."));
}

function legend() {
  return el("ul", { class: "legend", "aria-label": "Legend" },
    el("li", {}, el("span", { class: "s kept" }, el("b", { class: "n" }, "1"), "kept"), ", numbered as it is read"),
    el("li", {}, el("span", { class: "s gone" }, "dropped"), ", then ", el("small", { class: "why" }, "stage: why")));
}

function lines(list) {
  return el("ul", { class: "lines" }, list.map((line) => el("li", {}, ...longText(line, 600))));
}

// What the numbers say now: which spans stay, and what that means for context, tokens and cost.
function paint(run) {
  run.now = preview(run.view, run.at);
  run.changed = run.view.steps.some((_, number) => cutsElsewhere(run, number));
  if (!run.changed) run.now.kept = [...run.view.kept];
  const place = new Map();
  run.now.kept.forEach((segment, n) => { if (!place.has(segment)) place.set(segment, n + 1); });
  run.place = place;
  for (const [segment, marks] of run.marks) {
    const n = place.get(segment);
    const was = run.keptBefore.has(segment);
    for (const { span, mark } of marks) {
      span.className = "s " + (n ? "kept" : "gone") + (!!n === was ? "" : n ? " fresh" : " lost");
      mark.hidden = !n;
      mark.textContent = n ? String(n) : "";
    }
  }
  for (const { number, tally } of run.tallies) {
    const own = run.spansOf[number] || [];
    const kept = own.filter((span) => place.has(span.segment)).length;
    tally.textContent = own.length ? kept + " of " + own.length + " kept" : "";
    tally.classList.toggle("some", kept > 0);
  }
  for (const { spans, tally, chars } of run.folds) {
    const kept = spans.filter((p) => place.has(p.span.segment)).length;
    tally.textContent = (spans.length ? count(spans.length, "span") : "text") + ", " + count(chars, "character")
      + (kept ? " – " + kept + " now kept" : "");
    tally.classList.toggle("fresh", kept > 0);
  }
  paintWhys(run);
  run.parts.context.replaceChildren(drawContext(run));
  run.parts.many.textContent = count(run.now.kept.length, "span");
  if (run.parts.stale) run.parts.stale.hidden = !run.changed;
  paintControls(run);
  paintStats(run);
  paintBanner(run);
}

// Tokens after: those of the run, with what a preview adds and takes away.
function tokensNow(run) {
  const { after } = run.view.tokens;
  if (!run.changed) return after;
  const tokens = after + guessed(run.view, run.now.kept) - guessed(run.view, run.view.kept);
  return run.now.kept.length ? Math.max(1, Math.round(tokens)) : 0;
}

// Tokens of spans as a context, with a title before those of a document that follow each other.
function guessed(view, kept) {
  let tokens = 0, last = null;
  for (const segment of kept) {
    const [doc, , , own] = view.segments[segment];
    tokens += own + (doc === last ? 0 : view.documents[doc].title_tokens);
    last = doc;
  }
  return tokens;
}

function paintStats(run) {
  const { view } = run;
  const after = tokensNow(run), { before } = view.tokens;
  const sum = (key) => view.steps.reduce((total, step) => total + (step[key] || 0), 0);
  const about = run.changed && after ? "about " : "";
  const price = Number(document.getElementById("price").value) || 0;
  const less = num(100 - 100 * after / before, after && after < before / 50 ? 1 : 0) + "% less";
  const stat = (label, value, more, bar) => el("div", { class: "stat" }, el("dt", {}, label),
    el("dd", {}, el("span", { class: "big" }, value), bar, el("span", { class: "soft" }, more)));
  const cached = sum("cached") ? num(sum("cached")) + " from a cache" : num(sum("tokens_in")) + " tokens read";
  run.parts.stats.replaceChildren(...[
    typeof view.answerable === "number" && stat("Answerable", num(100 * view.answerable, 0) + "%",
      view.unanswered ? el("b", { class: "bad" }, "no document seems to answer") : "that some document answers", gauge(view.answerable)),
    stat("Tokens" + (about && ", about"), num(after), "of " + num(before) + (before ? ": " + (after <= before ? less : "more") : ""), gauge(before ? Math.min(1, after / before) : 0)),
    stat("Spans kept", num(run.now.kept.length), "of " + num(view.spans.length)),
    stat("Time", num(sum("seconds"), 2) + " s", count(sum("calls"), "model call") + ", " + cached)].filter(Boolean));
  run.parts.cost.hidden = !(price > 0);
  run.parts.cost.textContent = "Context of 1,000 such questions: " + money(before * price / 1000) + " → " + about + money(after * price / 1000) + ".";
}

function money(value) {
  return value.toLocaleString("en", { minimumFractionDigits: 2, maximumFractionDigits: value < 1 ? 4 : 2 });
}

function gauge(part) {
  return svg("svg", { class: "gauge", viewBox: "0 0 100 4", preserveAspectRatio: "none", "aria-hidden": "true" },
    svg("rect", { class: "rail", width: 100, height: 4 }), svg("rect", { class: "fill", width: 100 * part, height: 4 }));
}

function drawStages(run) {
  const { view } = run;
  const rows = view.steps.map((step, n) => [
    el("div", {}, el("span", { class: "number" }, String(n + 1)), step.stage.includes("(")
      ? el("details", {}, el("summary", {}, stageName(step)), el("code", {}, ...longText(step.stage, 1200))) : stageName(step)),
    num(step.segments_in), num(step.segments_out), num(step.calls), num(step.cached), num(step.tokens_in), num(step.tokens_out),
    step.seconds < 0.001 ? "<0.001" : num(step.seconds, 3)]);
  const notes = [...view.notes.map((line) => [null, line])];
  view.steps.forEach((step, n) => {
    if (step.error) notes.push([n, "was skipped: " + step.error]);
    for (const line of [...step.warnings, ...step.notes]) notes.push([n, line]);
    if (step.unreadable) notes.push([n, count(step.unreadable, "reply").replace("replys", "replies") + " could not be read"]);
  });
  const id = run.id + "-stages";
  return el("div", { class: "panel stages" },
    el("h3", { id }, "Stages"),
    table("Stages of " + run.label, ["stage", "in", "out", "calls", "cached", "tokens read", "written", "seconds"], rows),
    notes.length ? el("details", { class: "notes", open: notes.length < 12 }, el("summary", {}, count(notes.length, "note")),
      el("ul", { class: "lines" }, notes.map(([n, line]) => el("li", {},
        n === null ? null : el("b", {}, stageName(view.steps[n]) + ": "), ...longText(line, 600))))) : null);
}

function showViews(views, at = []) {
  hideTip();
  const box = document.getElementById("views");
  runs.splice(0, runs.length, ...views.map((view, number) => makeRun(view, number, views, at[number])));
  const [first] = views;
  const question = first && el("div", { class: "asked" }, el("p", { class: "kicker" }, "Question"),
    el("h1", { dir: "auto" }, ...longText(first.question, 600)));
  const jumps = runs.length > 1 && el("nav", { class: "jumps", "aria-label": "Systems" },
    runs.map((run) => el("a", { href: "#" + run.id }, run.label)));
  box.replaceChildren(...[question, jumps].filter(Boolean),
    el("div", { class: "runs" + (views.length > 1 ? " two" : "") }, runs.map(drawRun)));
}

const given = JSON.parse(document.getElementById("data").textContent);
const main = document.getElementById("main");
main.replaceChildren(el("div", { id: "live" }), el("div", { id: "views" }), tip.box);
if (given.views.length || !given.live) showViews(given.views, linked().at);
if (!given.views.length && !given.live) {
  main.prepend(el("h1", {}, "Nothing to inspect"), el("p", { class: "empty" }, "This page was made of no run."));
}
document.getElementById("price").addEventListener("input", () => runs.forEach(paintStats));
document.getElementById("link").addEventListener("click", copyLink);
