// Sliders: where the stages cut, and what would stay if they cut elsewhere.

const LABELS = {
  min_score: "least score that stays", threshold: "least score that stays", k: "how many stay",
  price: "what one more must be worth", max_similarity: "most that two may be alike",
};

const PROMISED = "how often the answer survives (keep_answer)";

// Right of a slider's handle is what stays, so that to the right is always less to read.
const BARS = {
  "at least": "Each bar: how many spans have this score. Green ones stay.",
  best: "Each bar: the score of a span, the best on the right. Green ones stay.",
  worth: "Each bar: what the best …, 2, 1, 0 spans are worth, less a price for each. The green one is the highest.",
  distinct: "Each bar: how many pairs of spans are this much alike, the most alike on the left. Of a grey pair one goes.",
};
const PROMISES = "Each bar: how many spans stay at this promise. The green one is the chosen one.";
const UNSCORED = "Each bar: a span, the first on the right; nothing has scored them. Green ones stay.";
const FALLING = new Set(["best", "distinct"]); // the larger the number, the more stays

// A control for each number at which a stage cut; sets of one stage that share it share the control.
// The one of the stage that dropped most comes first.
function controlsOf(view) {
  const drops = (control) => view.spans.filter((span) => view.steps[span.step] === control.step).length;
  return view.steps.flatMap((step, number) => {
    const cuts = (step.cuts || []).filter((cut) => cut.keeps !== "distinct" || cut.near.length);
    const one = cuts.every((cut) => cut.at === cuts[0].at || (promiseOf(cut) && promiseOf(cut) === promiseOf(cuts[0])));
    const groups = one ? (cuts.length ? [cuts] : []) : cuts.map((cut) => [cut]);
    return groups.map((group, g) => ({ step, cuts: group, names: group.map((cut) => number + "/" + step.cuts.indexOf(cut)),
      label: one ? "" : " (set " + (g + 1) + ")" }));
  }).sort((a, b) => drops(b) - drops(a));
}

// Cut at the run's numbers, or at those of a link: {"step/cut": number}.
function reset(run, at = {}) {
  for (const control of run.controls) control.promise = undefined;
  run.view.steps.forEach((step, number) => (step.cuts || []).forEach((cut, n) => {
    const key = number + "/" + n;
    run.at[key] = Number.isFinite(at[key]) ? at[key] : cut.at;
  }));
}

function drawControls(run) {
  if (!run.controls.length) return null;
  const id = run.id + "-cuts";
  const [first, ...rest] = run.controls.map((control) => drawControl(run, control));
  return el("div", { class: "panel cuts", role: "group", "aria-labelledby": id },
    el("h3", { id }, "What if it kept more, or less?"), first,
    rest.length ? el("details", { class: "others" }, el("summary", {}, "More: " + count(rest.length, "other cut")), rest) : null,
    run.parts.banner);
}

// The promise that a cut kept in the run; undefined of one that was not chosen by a promise.
function promiseOf(cut) {
  return cut.promises && cut.promises.numbers.length > 1 ? cut.promises.keep_answer : undefined;
}

// A control by promises moves between those that are known, others show their numbers as they are.
function numberAt(cut, promise) {
  return cut.promises.numbers.find(([known]) => known === promise)[1];
}

// Of known promises the least that is as careful as a number typed.
function careful(cut, typed) {
  const known = cut.promises.numbers.map(([promise]) => promise);
  return known.find((promise) => promise >= typed - 1e-9) ?? known[known.length - 1];
}

// What the slider of a control is at: its promise, or its number. A link has numbers alone.
function shownAt(run, control) {
  const [cut] = control.cuts, at = run.at[control.names[0]];
  if (promiseOf(cut) === undefined) return at;
  const chosen = control.promise ?? cut.promises.keep_answer;
  if (numberAt(cut, chosen) === at) return chosen;
  return cut.promises.numbers.reduce((best, one) => (Math.abs(one[1] - at) < Math.abs(best[1] - at) ? one : best))[0];
}

function setControl(run, control, value) {
  if (!Number.isFinite(value)) return;
  const promised = promiseOf(control.cuts[0]) !== undefined;
  if (promised) control.promise = careful(control.cuts[0], value);
  control.names.forEach((key, n) => { run.at[key] = promised ? numberAt(control.cuts[n], control.promise) : value; });
  paint(run);
}

function drawControl(run, control) {
  const cut = control.cuts[0];
  const promised = promiseOf(cut) !== undefined;
  const [low, high, step] = rangeOf(control);
  const id = run.id + "-cut" + run.controls.indexOf(control);
  const slider = el("input", { type: "range", id, min: low, max: high, step, dir: promised || FALLING.has(cut.keeps) ? "rtl" : "ltr", "aria-describedby": id + "-says" });
  const field = el("input", { type: "number", step: promised ? step : "any", min: promised && low, max: promised && high, "aria-label": "Number of " + stageName(control.step) + control.label });
  slider.addEventListener("input", () => {
    const value = Number(slider.value);
    const near = step === "any" && Math.abs(value - cut.at) < (high - low) / 200;
    setControl(run, control, near ? cut.at : step === "any" ? Number(value.toPrecision(4)) : value);
  });
  field.addEventListener("input", () => { if (field.value !== "") setControl(run, control, Number(field.value)); });
  field.addEventListener("change", () => { field.value = shownAt(run, control); });
  Object.assign(control, { slider, field, says: el("output", { id: id + "-says", for: id }), chart: el("div", { class: "chart" }), low, high });
  const by = cut.keeps === "at least" && cut.score ? ", by “" + oneLine(cut.score, 40) + "”" : "";
  const label = promised ? PROMISED : (LABELS[cut.option] || cut.option) + by;
  return el("div", { class: "control" },
    el("div", { class: "head" }, el("label", { for: id }, el("b", {}, stageName(control.step) + control.label), ": " + label), field),
    control.chart, slider,
    el("div", { class: "ends" }, el("span", { "aria-hidden": "true" }, "keep more"), control.says, el("span", { "aria-hidden": "true" }, "read less")),
    el("p", { class: "soft" }, promised ? PROMISES : cut.keeps === "best" && !cut.score ? UNSCORED : BARS[cut.keeps]));
}

function rangeOf(control) {
  const [cut] = control.cuts;
  if (promiseOf(cut) !== undefined) return [cut.promises.numbers[0][0], cut.promises.numbers[cut.promises.numbers.length - 1][0], 0.01];
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
    const cut = control.cuts[0], at = run.at[control.names[0]], shown = shownAt(run, control);
    if (document.activeElement !== control.field || Number(control.field.value) !== shown) control.field.value = Number(shown.toPrecision(6));
    control.slider.value = shown;
    const sums = [control.cuts.reduce((sum, c) => sum + c.given.length, 0), staying(control, at)];
    const flow = run.now.flow.get(run.view.steps.indexOf(control.step));
    const [given, kept] = control.step.cuts.length === 1 && flow ? flow : sums;
    const was = promiseOf(cut) === undefined ? "cut at " + num(cut.at, 4) : "promised " + num(promiseOf(cut), 4);
    control.says.textContent = kept + " of " + count(given, "span") + " stay" + (kept === 1 ? "s" : "") + ", "
      + count(tokensNow(run), "token") + " in all" + (at === cut.at ? "" : "; the run " + was);
    control.slider.setAttribute("aria-valuetext", num(shown, 4) + ", " + control.says.textContent);
    control.chart.replaceChildren(chart(control, at, shown));
  }
}

// How many spans stay where each cut of a control is at a number, or at a promise.
function staying(control, at, promise) {
  return control.cuts.reduce((sum, cut) =>
    sum + cutAgain(cut, cut.values, promise === undefined ? at : numberAt(cut, promise)).length, 0);
}

// Bars above a slider: how many scores lie where, or the best in order, or what K of them are worth.
function chart(control, at, shown) {
  const [cut] = control.cuts;
  const promised = promiseOf(cut) !== undefined;
  const bars = promised ? cut.promises.numbers.map(([promise]) => ({ size: staying(control, at, promise), on: promise === shown })) : barsOf(control, at);
  if (promised || cut.keeps !== "at least") bars.reverse();
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

// Under the sliders: that this is no run, how exact it is, and the way back.
function paintBanner(run) {
  const { banner } = run.parts;
  banner.hidden = !run.changed;
  if (!run.changed) return banner.replaceChildren();
  const button = el("button", { type: "button", onclick: () => {
    reset(run);
    paint(run);
    run.controls[0].slider.focus();  // the button is gone, and the keyboard's place with it
  } }, "Back to the run");
  const left = run.now.notes;
  const budget = tokensNow(run) > run.view.tokens.after ? " A token budget, if the system has one, is not applied." : "";
  const exact = left.length ? "not all that follows is done again" : "exactly what the system would keep, token counts estimated";
  return banner.replaceChildren(...[
    el("p", { class: "lead" }, el("b", {}, "Preview"), button),
    el("p", {}, "From the scores of the run, without a model: " + exact + "." + budget), left.length ? lines(left) : null,
    el("ul", { class: "legend", "aria-label": "Marks of a preview" },
      el("li", {}, el("span", { class: "s kept fresh" }, el("b", { class: "n" }, "1"), "kept now")),
      el("li", {}, el("span", { class: "s gone lost" }, "dropped now")))].filter(Boolean));
}
