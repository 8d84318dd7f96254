// The page: a column for each view, each with its own numbers, context, documents and stages.

const LABELS = {
  min_score: "Least score that stays", threshold: "Threshold", k: "How many stay",
  price: "What one more must be worth", max_similarity: "Most that two may be alike",
};

const BARS = {
  "at least": "Bars: how many spans have which score.", best: "Bars: the scores, best first.",
  worth: "Bars: what the best 0, 1, 2, … are worth together, less that for each.", distinct: "Bars: how many pairs are how much alike.",
};

// What the left and the right end of a slider do.
const MORE = ["keep more", "read less"];
const ENDS = { "at least": MORE, worth: MORE, best: [...MORE].reverse(), distinct: [...MORE].reverse() };

const runs = [];

function makeRun(view, number, all) {
  const run = { view, id: "v" + number, at: {}, marks: new Map(), spansOf: {}, tallies: [], folds: [],
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
  reset(run);
  return run;
}

// Lists of segments that repeat another are not repeated here; what cannot be cut again has no slider.
function unfold(view) {
  let handed = [];
  for (const step of view.steps) {
    if (step.before === undefined) continue;
    step.before ??= handed;
    step.after ??= step.before;
    for (const cut of step.cuts || []) cut.given ??= step.before;
    if (step.cuts && !recuts(step)) delete step.cuts;
    handed = step.after;
  }
}

// A control for each number at which a stage cut; sets of one stage that share it share the control.
function controlsOf(view) {
  return view.steps.flatMap((step, number) => {
    const cuts = (step.cuts || []).filter((cut) => cut.keeps !== "distinct" || cut.near.length);
    const one = cuts.every((cut) => cut.at === cuts[0].at);
    const groups = one ? (cuts.length ? [cuts] : []) : cuts.map((cut) => [cut]);
    return groups.map((group, g) => ({ step, cuts: group, names: group.map((cut) => number + "/" + step.cuts.indexOf(cut)),
      label: one ? "" : " (set " + (g + 1) + ")" }));
  });
}

function reset(run) {
  run.view.steps.forEach((step, number) => (step.cuts || []).forEach((cut, n) => { run.at[number + "/" + n] = cut.at; }));
}

function drawRun(run) {
  const { view } = run;
  run.parts = { stats: el("dl", { class: "stats" }), context: el("div"), banner: el("div", { class: "banner", role: "status" }),
    many: el("span", { class: "tally" }) };
  const id = run.id + "-name";
  const docs = el("div", { class: "docs" });
  drawDocuments(run, docs);
  const column = el("section", { class: "run", id: run.id, "aria-labelledby": id },
    el("h2", { id, class: "name" }, run.label),
    run.parts.stats,
    view.warnings.length ? el("div", { class: "panel warn" }, el("h3", {}, "Warnings"), lines(view.warnings)) : null,
    view.answer === null ? null : el("div", { class: "panel answer" },
      el("h3", {}, "Answer"), el("p", { dir: "auto" }, ...longText(view.answer || "(nothing)", 2000)),
      run.parts.stale = el("p", { class: "soft", hidden: true }, "Of the run, not of this preview.")),
    drawControls(run),
    run.parts.banner,
    el("div", { class: "sides" },
      el("div", { class: "panel side", role: "group", "aria-labelledby": run.id + "-docs" },
        el("h3", { id: run.id + "-docs" }, "Documents ", el("span", { class: "tally" }, num(view.documents.length))), legend(), docs),
      el("div", { class: "panel side reads", role: "group", tabindex: "0", "aria-labelledby": run.id + "-context" },
        el("h3", { id: run.id + "-context" }, "What the generator reads ", run.parts.many), run.parts.context)),
    drawStories(run),
    drawStages(run));
  paint(run);
  return column;
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
    el("li", {}, el("span", { class: "s gone" }, "dropped"), "; point at it for the reason, or go there by Tab and arrow keys; Escape hides it"),
    el("li", {}, "A span that the generator reads leads to its document by click or Enter"));
}

function lines(list) {
  return el("ul", { class: "lines" }, list.map((line) => el("li", {}, ...longText(line, 600))));
}

// What the numbers say now: which spans stay, and what that means for context, tokens and cost.
function paint(run) {
  run.now = preview(run.view, run.at);
  run.changed = run.view.steps.some((step, number) =>
    (step.cuts || []).some((cut, n) => run.at[number + "/" + n] !== cut.at));
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
  run.parts.context.replaceChildren(drawContext(run));
  run.parts.many.textContent = count(run.now.kept.length, "span");
  if (run.parts.stale) run.parts.stale.hidden = !run.changed;
  paintControls(run);
  paintStats(run);
  paintBanner(run);
}

function paintBanner(run) {
  const { banner } = run.parts;
  banner.hidden = !run.changed;
  if (!run.changed) return banner.replaceChildren();
  const button = el("button", { type: "button", onclick: () => {
    reset(run);
    paint(run);
    run.controls[0].slider.focus();  // the button is gone, and the keyboard's place with it
  } }, "Back to the run");
  const left = run.now.told;
  const budget = tokensNow(run) > run.view.tokens.after ? " A token budget, if the system has one, is not applied." : "";
  const told = left.length
    ? [el("p", {}, "Cut again from the scores of the run, without a model, so not all that follows is done again." + budget), lines(left)]
    : [el("p", {}, "Cut again from the scores of the run, without a model: exactly what the system would keep. Token counts are estimates." + budget)];
  banner.replaceChildren(el("p", { class: "lead" }, el("b", {}, "Preview"), button), ...told,
    el("ul", { class: "legend", "aria-label": "Marks of a preview" },
      el("li", {}, el("span", { class: "s kept fresh" }, el("b", { class: "n" }, "1"), "kept now"), ", dropped in the run"),
      el("li", {}, el("span", { class: "s gone lost" }, "dropped now"), ", kept in the run")));
  return banner;
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
  const spans = view.spans.length;
  const price = Number(document.getElementById("price").value) || 0;
  const stat = (label, value, more, bar) => el("div", { class: "stat" }, el("dt", {}, label),
    el("dd", {}, el("span", { class: "big" }, value), bar, more ? el("span", { class: "soft" }, more) : null));
  const left = before ? Math.min(1, after / before) : 0;
  run.parts.stats.replaceChildren(
    stat("Context tokens", num(before) + " → " + about + num(after),
      before ? (after <= before ? num(100 - 100 * after / before, after && after < before / 50 ? 1 : 0) + "% less to read" : "more than before") : "", gauge(left)),
    stat("Spans kept", num(run.now.kept.length) + " of " + num(spans), droppedBy(run)),
    stat("Model calls", num(sum("calls")), (sum("embedded") ? num(sum("embedded")) + " texts embedded, " : "") + num(sum("tokens_in")) + " tokens read, " + num(sum("tokens_out")) + " written"
      + (sum("cached") ? ", " + num(sum("cached")) + " from a cache" : "")),
    stat("Time", num(sum("seconds"), 2) + " s", "of all stages"),
    ...(price > 0 ? [stat("Context cost of 1,000 questions", about + money(before * price / 1000) + " → " + money(after * price / 1000),
      "as this one, context only")] : []));
}

function money(value) {
  return value.toLocaleString("en", { minimumFractionDigits: 2, maximumFractionDigits: value < 1 ? 4 : 2 });
}

function gauge(part) {
  return svg("svg", { class: "gauge", viewBox: "0 0 100 4", preserveAspectRatio: "none", "aria-hidden": "true" },
    svg("rect", { class: "rail", width: 100, height: 4 }), svg("rect", { class: "fill", width: 100 * part, height: 4 }));
}

function droppedBy(run) {
  const often = new Map();
  for (const span of run.view.spans) {
    if (run.place.has(span.segment)) continue;
    const by = run.now.gone.get(span.segment) ?? outer(run, span.segment) ?? span.step;
    const step = run.view.steps[by];
    if (step) often.set(stageName(step), (often.get(stageName(step)) || 0) + 1);
  }
  return [...often].map(([stage, n]) => num(n) + " by " + stage).join(", ");
}

function drawControls(run) {
  if (!run.controls.length) return null;
  const id = run.id + "-cuts";
  return el("div", { class: "panel cuts", role: "group", "aria-labelledby": id },
    el("h3", { id }, "Where it cuts"),
    el("p", { class: "soft" }, "Move a cut and see what would stay: from the scores of the run, at once, without a model call."),
    el("div", { class: "controls" }, run.controls.map((control, n) => drawControl(run, control, n))));
}

function drawControl(run, control, n) {
  const cut = control.cuts[0];
  const [low, high, step] = rangeOf(control);
  const id = run.id + "-cut" + n;
  const set = (value) => {
    if (!Number.isFinite(value)) return;
    for (const key of control.names) run.at[key] = value;
    paint(run);
  };
  const slider = el("input", { type: "range", id, min: low, max: high, step, "aria-describedby": id + "-says" });
  const field = el("input", { type: "number", step: "any", "aria-label": "Number of " + stageName(control.step) + control.label });
  slider.addEventListener("input", () => {
    const value = Number(slider.value);
    const near = step === "any" && Math.abs(value - cut.at) < (high - low) / 200;
    set(near ? cut.at : step === "any" ? Number(value.toPrecision(4)) : value);
  });
  field.addEventListener("input", () => { if (field.value !== "") set(Number(field.value)); });
  Object.assign(control, { slider, field, says: el("output", { id: id + "-says", class: "soft", for: id }), chart: el("div", { class: "chart" }), low, high });
  const by = cut.keeps === "at least" && cut.score ? ", by “" + oneLine(cut.score, 40) + "”" : "";
  return el("div", { class: "control" },
    el("div", { class: "head" }, el("label", { for: id }, el("b", {}, stageName(control.step) + control.label), el("span", {}, (LABELS[cut.option] || cut.option) + by)), field),
    control.chart, slider, el("div", { class: "ends soft", "aria-hidden": "true" }, ENDS[cut.keeps].map((end) => el("span", {}, end))), control.says, el("p", { class: "soft" }, cut.keeps === "best" && !cut.score ? "Bars: in the order given, nothing has scored them yet." : BARS[cut.keeps]));
}

function rangeOf(control) {
  const [cut] = control.cuts;
  if (cut.keeps === "best") return [0, control.cuts.reduce((most, c) => Math.max(most, c.given.length), 1), 1];
  if (cut.keeps === "worth") return [0, Math.min(1, Math.max(0.3, 3 * cut.at)), "any"];
  if (cut.keeps === "distinct") return [cut.least, 1, "any"];
  let low = cut.at, high = cut.at;
  for (const c of control.cuts) for (const value of c.values) { low = Math.min(low, value); high = Math.max(high, value); }
  const pad = (high - low) * 0.02 || 0.01;
  return [low - pad, high + pad, "any"];
}

function paintControls(run) {
  for (const control of run.controls) {
    const cut = control.cuts[0], at = run.at[control.names[0]];
    if (document.activeElement !== control.field || Number(control.field.value) !== at) control.field.value = Number(at.toPrecision(6));
    control.slider.value = at;
    const sums = [control.cuts.reduce((sum, c) => sum + c.given.length, 0),
      control.cuts.reduce((sum, c) => sum + cutAgain(c, c.values, at).length, 0)];
    const flow = run.now.flow.get(run.view.steps.indexOf(control.step));
    const [given, kept] = control.step.cuts.length === 1 && flow ? flow : sums;
    control.says.textContent = kept + " of " + count(given, "span") + " stay"
      + (kept === 1 ? "s" : "") + ", " + count(tokensNow(run), "token") + " of context" + (at === cut.at ? ", as in the run" : "; the run cut at " + num(cut.at, 4));
    control.slider.setAttribute("aria-valuetext", num(at, 4) + ", " + control.says.textContent);
    control.chart.replaceChildren(chart(control, at));
  }
}

// Bars above a slider: how many scores lie where, or the best in order, or what K of them are worth.
function chart(control, at) {
  const [cut] = control.cuts;
  const bars = barsOf(control, at);
  const most = Math.max(...bars.map((bar) => bar.size), 1e-12);
  const wide = 100 / Math.max(1, bars.length);
  return svg("svg", { class: "bars", viewBox: "0 0 100 30", preserveAspectRatio: "none", "aria-hidden": "true", "data-keeps": cut.keeps },
    bars.map((bar, n) => {
      const tall = bar.size > 0 ? Math.max(1.5, (28 * bar.size) / most) : 0;
      return svg("rect", { class: bar.on ? "on" : "off", x: n * wide + wide * 0.08, y: 30 - tall, width: wide * 0.84, height: tall });
    }));
}

function barsOf(control, at) {
  const [cut] = control.cuts;
  if (cut.keeps === "worth") {
    const worths = cut.worth.map((worth, k) => worth - at * k);
    const low = worths.reduce((a, b) => Math.min(a, b), 0), best = bestCount(cut, at);
    return worths.map((worth, k) => ({ size: worth - low + 0.02, on: k === best }));
  }
  const values = control.cuts.flatMap((c) => c.values.map((value) => value ?? 0));
  if (cut.keeps === "best") {
    const sorted = [...values].sort((a, b) => b - a);
    const every = Math.max(1, Math.ceil(sorted.length / 80));
    const low = sorted[sorted.length - 1] ?? 0;
    const flat = sorted.length && sorted[0] === low;
    return sorted.flatMap((value, n) => n % every ? [] : [{ size: flat ? 1 : value - low + (sorted[0] - low) * 0.06,
      on: n < at * control.cuts.length }]);
  }
  const points = cut.keeps === "distinct" ? cut.near.map((pair) => pair[2]) : values;
  const bins = Array.from({ length: 48 }, () => 0);
  for (const value of points) {
    bins[Math.max(0, Math.min(47, Math.floor((48 * (value - control.low)) / (control.high - control.low || 1))))] += 1;
  }
  return bins.map((size, n) => {
    const middle = control.low + ((n + 0.5) * (control.high - control.low)) / 48;
    return { size: Math.sqrt(size), on: cut.keeps === "distinct" ? middle < at : middle >= at };
  });
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

function showViews(views) {
  hideTip();
  const box = document.getElementById("views");
  runs.splice(0, runs.length, ...views.map(makeRun));
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
if (given.views.length || !given.live) showViews(given.views);
if (!given.views.length && !given.live) {
  main.prepend(el("h1", {}, "Nothing to inspect"), el("p", { class: "empty" }, "This page was made of no run."));
}
document.getElementById("price").addEventListener("input", () => runs.forEach(paintStats));
