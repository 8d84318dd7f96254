"use strict";
// Cutting again at other numbers, as the stages themselves do.

function bestFirst(values) {
  const rank = (value) => (value === null || value === undefined ? Infinity : -value);
  const places = values.map((_, place) => place);
  return places.sort((a, b) => {
    const x = rank(values[a]), y = rank(values[b]);
    return x === y ? 0 : x < y ? -1 : 1;
  });
}

// Places of `values` that stay at the number `at`, in the order in which they stay.
function cutAgain(cut, values, at) {
  const ranked = bestFirst(values);
  const all = values.map((_, place) => place);
  if (cut.keeps === "best") return ranked.slice(0, Math.max(0, Math.floor(at)));
  if (cut.keeps === "worth") return ranked.slice(0, bestCount(cut, at));
  if (cut.keeps === "distinct") {
    const dropped = new Set();
    const pairs = [...cut.near].sort((a, b) => a[1] - b[1] || a[0] - b[0]);
    for (const [better, worse, alike] of pairs) {
      if (alike >= at - 1e-9 && !dropped.has(better)) dropped.add(worse);
    }
    const gone = new Set([...dropped].map((place) => ranked[place]));
    return all.filter((place) => !gone.has(place));
  }
  const spared = new Set(ranked.slice(0, cut.min_keep));
  return all.filter((place) => {
    const value = values[place];
    return value === null || value >= at || spared.has(place);
  });
}

function bestCount(cut, at) {
  let most = -Infinity, best = 0;
  cut.worth.forEach((worth, k) => {
    if (worth - at * k > most) { most = worth - at * k; best = k; }
  });
  return Math.max(best, cut.min_keep);
}

// Whether the step's cut-offs are all there is to it: they keep what it kept, so ordered.
function recuts(step) {
  const sets = new Map();
  step.cuts.forEach((cut) => cut.given.forEach((s) => sets.set(s, cut)));
  const kept = [], done = new Set();
  for (const s of step.before) {
    const cut = sets.get(s);
    if (!cut) kept.push(s);
    else if (!done.has(cut)) {
      done.add(cut);
      kept.push(...cutAgain(cut, cut.values, cut.at).map((place) => cut.given[place]));
    }
  }
  return sameList(kept, step.after);
}

function sameList(a, b) {
  return a.length === b.length && a.every((value, place) => value === b[place]);
}

// What is kept at the numbers `at` ({"step/cut": number}), in the generator's order; which stage
// dropped what; in words what the preview could not do again; how many came to a stage and left it.
function preview(view, at) {
  const state = { now: [], values: new Map(), unseen: new Set(), gone: new Map(), notes: [], flow: new Map() };
  let began = false;
  view.steps.forEach((step, number) => {
    if (!step.before) return;
    if (!began) { state.now = [...step.before]; began = true; }
    const came = state.now.length;
    const changed = (step.cuts || []).some((cut, n) => at[number + "/" + n] !== cut.at);
    const same = sameList(state.now, step.before);
    if (same && !changed) {
      const kept = new Set(step.after);
      if (!splits(step, kept)) step.before.forEach((s) => kept.has(s) || state.gone.set(s, number));
      learn(state, step);
      state.now = [...step.after];
    } else if (step.cuts) {
      cutStep(state, step, number, at, same);
    } else if (step.order) {
      orderStep(view, state, step);
    } else {
      passStep(view, state, step, number);
    }
    state.flow.set(number, [came, state.now.length]);
  });
  return { kept: state.now, gone: state.gone, notes: [...new Set(state.notes)], flow: state.flow };
}

function splits(step, kept) {
  const before = new Set(step.before);
  return [...kept].some((s) => !before.has(s));
}

function learn(state, step) {
  if (step.scored) { state.values.clear(); }
  (step.cuts || []).forEach((cut) => {
    cut.given.forEach((s, place) => state.values.set(s, cut.values[place]));
  });
  if (step.order) step.before.forEach((s, place) => state.values.set(s, step.values[place]));
}

function cutStep(state, step, number, at, same) {
  learn(state, step);
  const sets = new Map();
  step.cuts.forEach((cut, n) => cut.given.forEach((s) => sets.set(s, n)));
  const alone = step.cuts.length === 1; // with several, nobody knows which set a new one joins
  const groups = step.cuts.map((_, n) =>
    state.now.filter((s) => (alone && state.values.has(s) ? 0 : sets.get(s)) === n));
  const kept = [], done = new Set();
  for (const s of state.now) {
    const n = alone && state.values.has(s) ? 0 : sets.get(s);
    if (n === undefined) {
      if (state.unseen.has(s)) state.notes.push(unscored(step));
      kept.push(s);
    } else if (!done.has(n)) {
      done.add(n);
      kept.push(...cutGroup(state, step, step.cuts[n], groups[n], at[number + "/" + n], same));
    }
  }
  const staying = new Set(kept);
  for (const s of state.now) if (!staying.has(s)) state.gone.set(s, number);
  state.now = kept;
}

function cutGroup(state, step, cut, group, number, same) {
  const values = group.map((s) => (state.values.has(s) ? state.values.get(s) : null));
  if (!same && (cut.keeps === "distinct" || (cut.keeps === "worth" && !sameBest(cut, values)))) {
    state.notes.push(stageName(step) + " is not cut again for other segments: it lets go what it let go in the run");
    const kept = new Set(step.after), seen = new Set(cut.given);
    return group.filter((s) => kept.has(s) || !seen.has(s));
  }
  if (!same && cut.option === "threshold") {
    state.notes.push(stageName(step) + " keeps its number, though it might choose another for other scores");
  }
  return cutAgain(cut, values, number).map((place) => group[place]);
}

// What K segments are worth was made from the best scores: it holds while those are the same.
function sameBest(cut, values) {
  const most = cut.worth.length - 1;
  const best = (list) => bestFirst(list).slice(0, most).map((place) => list[place]);
  const enough = cut.values.length > most ? values.length >= most : values.length === most;
  return enough && sameList(best(values), best(cut.values));
}

function orderStep(view, state, step) {
  learn(state, step);
  const values = state.now.map((s) => (state.values.has(s) ? state.values.get(s) : null));
  const ranked = bestFirst(values).map((place) => state.now[place]);
  if (step.order === "score") state.now = ranked;
  else if (step.order === "ends") {
    state.now = [...ranked.filter((_, n) => n % 2 === 0), ...ranked.filter((_, n) => n % 2).reverse()];
  } else {
    const of = (s) => view.segments[s];
    const document = (s) => view.documents[of(s)[0]];
    state.now = [...state.now].sort((a, b) =>
      document(a).rank - document(b).rank || compare(document(a).id, document(b).id)
      || of(a)[1] - of(b)[1] || of(a)[2] - of(b)[2]);
  }
}

// As Python compares texts: by code point, where UTF-16 puts astral characters too early.
function compare(a, b) {
  const x = [...a], y = [...b];
  for (let n = 0; n < Math.min(x.length, y.length); n++) {
    if (x[n] !== y[n]) return x[n].codePointAt(0) - y[n].codePointAt(0);
  }
  return x.length - y.length;
}

// A stage that cannot be run again: what it saw goes as it went in the run, the rest passes.
function passStep(view, state, step, number) {
  const before = new Set(step.before), after = new Set(step.after);
  const splitting = splits(step, after);
  const kept = [], fresh = [];
  for (const s of state.now) {
    if (!before.has(s)) {
      if (step.scored) { state.values.delete(s); state.unseen.add(s); }
      fresh.push(s);
      kept.push(s);
    } else if (splitting) {
      kept.push(...inside(view, s, step.after));
    } else if (after.has(s)) {
      kept.push(s);
    } else {
      state.gone.set(s, number);
    }
  }
  if (step.scored) for (const s of [...state.values.keys()]) if (before.has(s)) state.values.delete(s);
  if (step.scored) {
    state.notes.push(stageName(step) + " does not score again: its scores are those of the run"
      + (fresh.length ? ", and " + count(fresh.length, "span") + " more has none".replace("has", fresh.length > 1 ? "have" : "has") : ""));
  } else if (!splitting || fresh.length) state.notes.push(stageName(step) + " is not run again");
  const place = new Map(step.after.map((s, n) => [s, n]));
  const stood = new Map(step.before.map((s, n) => [s, n]));
  const moved = !splitting && step.after.some((s, n) => n && stood.get(step.after[n - 1]) > stood.get(s));
  state.now = moved ? kept.sort((a, b) => (place.get(a) ?? Infinity) - (place.get(b) ?? Infinity) || 0) : kept;
}

function inside(view, whole, parts) {
  const [doc, start, end] = view.segments[whole];
  return parts.filter((s) => {
    const part = view.segments[s];
    return part[0] === doc && part[1] >= start && part[2] <= end;
  });
}

function unscored(step) {
  return stageName(step) + " lets pass what has no score, since it had not come so far in the run";
}

function stageName(step) { return step.stage.split("(")[0]; }

function count(n, word) { return n.toLocaleString("en") + " " + word + (n === 1 ? "" : "s"); }
