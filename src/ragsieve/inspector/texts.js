// Documents with what became of every span, the context as the generator reads it, and the tip.

const FOLD = 700;   // characters of dropped text that are folded in a long document
const LONG = 2500;  // characters from which a document is long
const STEP = 200;   // spans, or documents, that are drawn at a time

// A document's text in order: spans, and what lies between them. Of two that overlap, the kept one.
function pieces(run, number) {
  const text = run.view.documents[number].text;
  const found = [];
  let at = 0;
  for (const span of run.spansOf[number] || []) {
    let [, start, end] = run.view.segments[span.segment];
    const last = found[found.length - 1];
    if (start < at && last && last.span && last.span.step !== null && span.step === null && start > last.start) {
      last.text = text.slice(last.start, start);
      at = start;
    }
    start = Math.max(start, at);
    if (start > at) found.push({ start: at, text: text.slice(at, start) });
    if (end > start) {
      found.push({ start, text: text.slice(start, end), span });
      at = end;
    }
  }
  if (at < text.length) found.push({ start: at, text: text.slice(at) });
  return found;
}

// Runs of pieces: those to be folded, and those to be shown.
function runsOf(list, long) {
  const runs = [];
  const isKept = (piece) => piece.span && piece.span.step === null;
  const near = (n) => [n - 1, n - 2, n + 1, n + 2].some((m) => list[m] && isKept(list[m]));
  list.forEach((piece, n) => {
    const open = !long || isKept(piece) || (near(n) && piece.text.length < FOLD);
    const last = runs[runs.length - 1];
    if (last && last.open === open) last.pieces.push(piece);
    else runs.push({ open, pieces: [piece] });
  });
  for (const one of runs) {
    one.chars = one.pieces.reduce((sum, piece) => sum + piece.text.length, 0);
    if (one.chars < FOLD && one.pieces.length < STEP) one.open = true;
  }
  return runs;
}

function drawDocument(run, number) {
  const doc = run.view.documents[number];
  const list = pieces(run, number);
  const long = doc.text.length > LONG || list.length > STEP;
  const id = run.id + "-d" + number;
  const body = el("div", { class: "text", dir: "auto" });
  body.addEventListener("keydown", (event) => rove(event, body));
  if (!doc.text) body.append(el("span", { class: "soft" }, "This document is empty."));
  for (const one of runsOf(list, long)) {
    if (one.open) drawPieces(run, body, one.pieces);
    else body.append(folded(run, body, one));
  }
  settle(body);
  const tally = el("span", { class: "tally" });
  run.tallies.push({ number, tally });
  return el("article", { class: "doc", "aria-labelledby": id },
    el("header", {}, el("h4", { id }, titleOf(doc)), tally), about(run, doc), body);
}

function about(run, doc) {
  const facts = [];
  const id = oneLine(doc.id, 80);
  if (doc.asked) facts.push(el("span", { class: "chip" }, "source: " + oneLine(doc.asked, 60)));
  if (id && (doc.title || doc.source)) facts.push(el("span", {}, "id " + id));
  if (doc.title.length > 120) facts.push(el("span", {}, ...longText(doc.title, 600)));
  if (doc.source && (doc.title || doc.source.length > 120)) facts.push(el("span", {}, ...longText(doc.source, 200)));
  const lines = [facts.length ? el("p", { class: "about" }, facts) : null];
  if (doc.written_by) {
    lines.push(el("details", { class: "written" },
      el("summary", {}, el("span", { class: "chip wrote" }, "written"), " by "
        + oneLine(doc.written_by, 80) + ", from " + count(doc.parents.length, "span")),
      el("ul", {}, doc.parents.map(([parent, , , text]) =>
        el("li", {}, el("b", {}, titleOf(run.view.documents[parent])), ": ", ...longText(text, 600))))));
  }
  return lines;
}

function folded(run, body, one) {
  const inner = el("div", { class: "folded" });
  const spans = one.pieces.filter((piece) => piece.span);
  const says = el("span", {}, oneLine(one.pieces.map((p) => head(p.text, 120)).slice(0, 4).join(" "), 90));
  const tally = el("span", { class: "soft" });
  const fold = el("details", { class: "fold" }, el("summary", {}, says, " ", tally), inner);
  run.folds.push({ fold, spans, tally, chars: one.chars });
  fold.addEventListener("toggle", () => {
    if (!fold.open || inner.firstChild) return;
    drawPieces(run, inner, one.pieces);
    settle(body);
    paint(run);
  });
  return fold;
}

function drawPieces(run, parent, list) {
  let done = 0;
  const some = () => {
    const part = list.slice(done, done + STEP);
    done += part.length;
    const made = part.flatMap((piece) => drawPiece(run, piece, parent));
    if (button) button.before(...made); else parent.append(...made);
    return list.length - done;
  };
  let button = null;
  const left = some();
  if (left > 0) {
    button = moreButton(() => { const rest = some(); paint(run); return rest; }, left, "piece");
    parent.append(button);
  }
}

function drawPiece(run, piece, parent) {
  const long = piece.text.length > LONG;
  const [text, more] = long ? longText(piece.text, 1200) : [piece.text, false];
  if (!piece.span) return more ? [text, more] : [text];
  const mark = el("b", { class: "n", hidden: true });
  const last = Object.values(piece.span.scores).pop();
  const span = el("span", { class: "s", role: "button", tabindex: "-1", "data-score": last === undefined ? null : score(last) }, mark, text);
  const why = el("small", { class: "why", hidden: true });
  const known = run.marks.get(piece.span.segment) || [];
  run.marks.set(piece.span.segment, [...known, { span, mark }]);
  run.whys.push({ span: piece.span, why, parent });
  wireTip(span, () => tipOf(run, piece.span));
  return more ? [span, more, why] : [span, why];
}

// Why spans went, once behind all that follow each other and went for the same.
function paintWhys(run) {
  let same = [], key = null;
  const flush = () => {
    if (!same.length) return;
    const { why, by } = same[same.length - 1];
    why.textContent = why.title = by + ": " + oneLine(merged(same.map((one) => one.reason)), 200);
    why.hidden = false;
    same = [];
  };
  let parent = null;
  for (const one of run.whys) {
    one.why.hidden = true;
    const { by, reason } = fate(run, one.span);
    const now = by && by + ": " + reason.replace(NUMBER, "#");
    if (now !== key || one.parent !== parent) flush();
    [key, parent] = [now, one.parent];
    if (by) same.push({ why: one.why, by, reason });
  }
  flush();
}

// Reasons that differ in their numbers as one, with the least and the most of each.
const NUMBER = /-?\d+(?:\.\d+)?(?:e[-+]?\d+)?/g;
function merged(reasons) {
  const all = reasons.map((reason) => reason.match(NUMBER) || []);
  let n = -1;
  return reasons[0].replace(NUMBER, () => {
    n += 1;
    const values = all.map((numbers) => numbers[n]).sort((a, b) => a - b);
    const least = values[0], most = values[values.length - 1];
    return least === most ? least : least + " to " + most;
  });
}

// One span of a text is in the tab order; arrow keys go from span to span.
function settle(body) {
  const all = [...body.querySelectorAll(".s")];
  if (all.length && !all.some((span) => span.tabIndex === 0)) all[0].tabIndex = 0;
}

function rove(event, body) {
  const steps = { ArrowRight: 1, ArrowDown: 1, ArrowLeft: -1, ArrowUp: -1, Home: -Infinity, End: Infinity };
  const by = steps[event.key];
  if (by === undefined || !event.target.classList.contains("s")) return;
  const all = [...body.querySelectorAll(".s")].filter((span) => span.offsetParent !== null);
  const here = all.indexOf(event.target);
  const next = all[Math.max(0, Math.min(all.length - 1, here + by))];
  event.preventDefault();
  for (const span of all) span.tabIndex = span === next ? 0 : -1;
  next.focus();
}

// The context: a paragraph a document, as the generator reads it; a preview joins spans by itself.
function drawContext(run) {
  const body = el("div", { class: "context", dir: "auto" });
  body.addEventListener("keydown", (event) => rove(event, body));
  let n = 0;
  for (const [number, pieces] of run.changed ? previewed(run) : run.view.read) {
    if (n >= run.shown) break;
    const doc = run.view.documents[number];
    const paragraph = el("p", {}, doc.title ? el("b", { class: "title" }, ...longText(doc.title, 600), ": ") : null);
    if (doc.written_by) paragraph.prepend(el("span", { class: "chip wrote" }, "written"), " ");
    body.append(paragraph);
    for (const [segment, piece] of pieces) {
      if (n >= run.shown) break;
      const [text, more] = longText(piece, 3000);
      const shown = segment === null ? text : contextSpan(run, segment, n += 1, text);
      paragraph.append(shown, ...(more ? [more] : []));
    }
  }
  if (!run.now.kept.length) body.append(el("p", { class: "soft" }, "Nothing is kept: the generator answers by itself."));
  const left = run.now.kept.length - run.shown;
  if (left > 0) body.append(moreButton(() => { run.shown += STEP; paint(run); return 0; }, left, "span"));
  settle(body);
  return body;
}

function contextSpan(run, segment, n, text) {
  const span = run.bySegment.get(segment) || { segment, step: null, scores: {}, reason: "" };
  const made = el("span", { class: "s kept" + (run.keptBefore.has(segment) ? "" : " fresh"),
    role: "button", tabindex: "-1", "data-segment": segment },
    el("b", { class: "n" }, String(n)), text);
  wireTip(made, () => tipOf(run, span));
  made.addEventListener("click", (event) => find(run, segment, !event.detail));
  return made;
}

// What is kept at the numbers set now, without the heads that a reader of structured text is shown.
function previewed(run) {
  const read = [];
  let last = null, end = 0;
  for (const segment of run.now.kept) {
    const [number, start, stop] = run.view.segments[segment];
    const text = run.view.documents[number].text;
    if (number !== last) read.push([number, []]);
    else read[read.length - 1][1].push([null, between(text, end, start)]);
    read[read.length - 1][1].push([segment, text.slice(start, stop)]);
    [last, end] = [number, stop];
  }
  return read;
}

// As ragsieve.structure.headings.between: white space as it stood, a blank line, or a mark for a cut.
function between(text, end, start) {
  const gap = text.slice(Math.min(start, end), Math.max(start, end));
  if (start >= end && !gap.trim()) return head(gap, 80);
  const begins = !text.slice(text.lastIndexOf("\n", start - 1) + 1, start).trim();
  const blank = /\n[ \t\r]*\n/.test(gap);
  const above = text[end ? text.lastIndexOf("\n", end - 1) + 1 : 0];
  if (begins && !blank && end < start && gap.includes("\n") && above === "|" && text[start] === "|") {
    return "\n";  // rows of a table
  }
  return gap.includes("\n") && (begins || blank) ? "\n\n" : " … ";
}

// Shows the span in its document; one who came by keyboard goes on from there.
function find(run, segment, byKeys) {
  const mark = (run.marks.get(segment) || [])[0];
  const hidden = run.folds.find(({ fold, spans }) => !fold.open && spans.some((p) => p.span.segment === segment));
  if (!mark && hidden) {
    hidden.fold.addEventListener("toggle", () => setTimeout(() => find(run, segment, byKeys)), { once: true });
    hidden.fold.open = true;
  } else if (mark) {
    mark.span.closest("details")?.setAttribute("open", "");
    mark.span.scrollIntoView({ block: "center", behavior: motion() });
    if (byKeys) mark.span.focus({ preventScroll: true });
    mark.span.classList.add("found");
    setTimeout(() => mark.span.classList.remove("found"), 1600);
  }
}

function motion() {
  return matchMedia("(prefers-reduced-motion: reduce)").matches ? "auto" : "smooth";
}

function tipOf(run, span) {
  const place = run.now.kept.indexOf(span.segment);
  const [number, start, end, tokens] = run.view.segments[span.segment];
  const { by, reason } = fate(run, span);
  const preview = run.changed && run.keptBefore.has(span.segment) === !by ? "" : run.changed ? " in this preview" : "";
  const what = by ? "Dropped" + preview + " by " + by
    : "Kept" + preview + ": the generator reads it " + ordinal(place + 1) + " of " + run.now.kept.length;
  const scores = Object.entries(span.scores);
  return [
    el("p", { class: "fate " + (by ? "no" : "yes") }, what),
    reason ? el("p", {}, ...longText(reason, 500)) : null,
    scores.length ? el("dl", {}, scores.flatMap(([key, value]) => [el("dt", {}, key), el("dd", {}, score(value))])) : null,
    el("p", { class: "soft" }, oneLine(titleOf(run.view.documents[number]), 60) + ", characters "
      + num(start) + " to " + num(end) + ", about " + num(Math.round(tokens)) + " tokens"),
  ];
}

// The stage that dropped a span, empty where it stays, and why: in the run, or at the numbers set now.
function fate(run, span) {
  const step = run.view.steps[span.step];
  const own = step ? stageName(step) : "a stage";
  if (run.place.has(span.segment)) {
    return { by: "", reason: run.keptBefore.has(span.segment) ? "" : "In the run: " + own + ": " + span.reason };
  }
  const now = run.now.gone.has(span.segment) ? run.now.gone.get(span.segment) : outer(run, span.segment);
  if (!run.changed || now === undefined || (now === span.step && !cutsElsewhere(run, now))) return { by: own, reason: span.reason || "" };
  const cuts = (run.view.steps[now].cuts || []).map((cut, n) => {
    const control = run.controls.find((one) => one.names.includes(now + "/" + n));
    return control && promiseOf(cut) !== undefined ? "keep_answer = " + num(shownAt(run, control), 4)
      : cut.option + " = " + num(run.at[now + "/" + n], 4);
  });
  return { by: stageName(run.view.steps[now]), reason: [...new Set(cuts)].join(", ") };
}

function cutsElsewhere(run, number) {
  return (run.view.steps[number].cuts || []).some((cut, n) => run.at[number + "/" + n] !== cut.at);
}

// The stage that let the text go of which a span is a part.
function outer(run, segment) {
  const [doc, start, end] = run.view.segments[segment];
  for (const [other, step] of run.now.gone) {
    const whole = run.view.segments[other];
    if (whole[0] === doc && whole[1] <= start && whole[2] >= end) return step;
  }
  return undefined;
}

// The tip is there on hover and on focus, can be pointed at, and goes on Escape.
const tip = { box: document.getElementById("tip"), of: null, timer: 0 };

function wireTip(span, make) {
  const show = () => {
    clearTimeout(tip.timer);
    if (tip.of && tip.of !== span) tip.of.removeAttribute("aria-describedby");
    tip.of = span;
    tip.box.replaceChildren(...make().filter(Boolean));
    tip.box.hidden = false;
    span.setAttribute("aria-describedby", "tip");
    placeTip(span);
  };
  span.addEventListener("mouseenter", show);
  span.addEventListener("focus", show);
  span.addEventListener("click", show);
  span.addEventListener("mouseleave", () => { if (document.activeElement !== span) hideSoon(); });
  span.addEventListener("blur", hideSoon);
  span.addEventListener("keydown", (event) => {
    if (event.key === "Enter" || event.key === " ") { event.preventDefault(); span.click(); }
  });
}

function placeTip(span) {
  if (matchMedia("(max-width: 40rem)").matches) {
    tip.box.style.left = tip.box.style.top = "";
    return;
  }
  const at = span.getClientRects()[0] || span.getBoundingClientRect();
  const box = tip.box.getBoundingClientRect();
  const under = at.bottom + 8 + box.height < innerHeight;
  tip.box.style.left = Math.max(8, Math.min(at.left, innerWidth - box.width - 16)) + "px";
  tip.box.style.top = (under ? at.bottom + 8 : Math.max(8, at.top - box.height - 8)) + "px";
}

function hideSoon() {
  clearTimeout(tip.timer);
  tip.timer = setTimeout(hideTip, 150);
}

function hideTip() {
  tip.box.hidden = true;
  tip.of?.removeAttribute("aria-describedby");
  tip.of = null;
}

tip.box.addEventListener("mouseenter", () => clearTimeout(tip.timer));
tip.box.addEventListener("mouseleave", hideSoon);
document.addEventListener("keydown", (event) => { if (event.key === "Escape") hideTip(); });
addEventListener("scroll", () => { if (tip.of && !tip.box.hidden) placeTip(tip.of); }, { passive: true });
