// The events that stages log: clusters and rounds, sources, and any others.

const AGENTS = ["#0072b2", "#b34700", "#00735c", "#8f3f71", "#6b5b00", "#4b4fc4", "#a3273f", "#3d6b1f", "#5f4a8b", "#4a5a68"];

function drawStories(run) {
  const parts = [];
  run.view.steps.forEach((step, number) => {
    const logged = (step.events || []).filter((event) => event && typeof event === "object");
    const of = (kind) => logged.filter((event) => event.event === kind);
    if (of("clusters").length) parts.push(debate(run, number, of));
    if (of("sources").length || of("source").length) parts.push(sources(run, number, of));
    const known = ["clusters", "answers", "merge", "round", "end", "sources", "source", "threshold"];
    const others = logged.filter((event) => !known.includes(event.event));
    if (others.length) parts.push(events(run, number, step, others));
  });
  return parts;
}

function part(run, number, kind, heading, lead, ...children) {
  const id = run.id + "-" + kind + number;
  return el("div", { class: "panel story" },
    el("h3", { id }, heading), lead ? el("p", { class: "soft" }, lead) : null, children);
}

function sources(run, number, of) {
  const kept = {}, found = {};
  for (const span of run.view.spans) {
    const asked = run.view.documents[run.view.segments[span.segment][0]].asked;
    found[asked] = (found[asked] || 0) + 1;
    if (span.step === null) kept[asked] = (kept[asked] || 0) + 1;
  }
  const rows = of("source").map((event) => [
    oneLine(String(event.name), 80),
    event.error ? el("span", { class: "bad" }, "left out: " + oneLine(String(event.error), 300)) : "asked",
    event.found === undefined ? "" : num(event.found),
    (kept[event.name] || 0) + " of " + (found[event.name] || 0),
    event.seconds === undefined ? "" : num(event.seconds, 2) + " s",
  ]);
  for (const event of of("sources")) {
    for (const left of event.left || []) rows.push([oneLine(String(left), 80), "not asked by the router", "", "", ""]);
  }
  return part(run, number, "sources", "Sources", "Which were asked, what they found, and how many of their spans stayed.",
    table("Sources of " + run.label, ["source", "state", "found", "spans kept", "time"], rows));
}

function debate(run, number, of) {
  const placed = of("clusters").flatMap((event) => event.documents || []);
  const end = of("end").slice(-1)[0] || {};
  const standing = new Set(end.documents || []);
  const said = Object.fromEntries(of("answers").flatMap((e) => e.answers || []).map((a) => [a.agent, a.answer]));
  const agents = [...new Set(placed.map((one) => one.agent))].sort((a, b) => a - b);
  const titles = Object.fromEntries(placed.map((one) => [one.document, one.title || one.document]));
  const cards = agents.map((agent) => {
    const own = placed.filter((one) => one.agent === agent);
    const merge = of("merge").find((event) => [].concat(event.of).includes(agent));
    const ended = (end.agents || []).includes(agent) ? el("span", { class: "chip kept" }, "its answer stands")
      : merge ? el("span", { class: "chip" }, "into agent " + merge.into + (merge.round ? ", round " + merge.round : ", equal answer"))
        : el("span", { class: "chip" }, "does not stand");
    return el("li", { class: "agent" },
      el("p", {}, dot(agent), el("b", {}, "Agent " + agent), " ", ended),
      said[agent] === undefined ? null : el("p", { class: "said" }, ...longText(String(said[agent]) || "(nothing)", 400)),
      el("ul", {}, own.map((one) => el("li", { class: standing.has(one.document) ? "stands" : "soft" },
        oneLine(String(one.title || one.document), 90)))));
  });
  return part(run, number, "debate", "Clusters, agents and rounds",
    "Documents that are alike share an agent; each answers, equal answers merge, and a critic winnows the rest.",
    el("div", { class: "debate" }, scatter(placed, standing), el("ol", { class: "agents" }, cards)),
    el("ol", { class: "acts" }, acts(of, titles)));
}

function dot(agent) {
  return svg("svg", { class: "dot", viewBox: "0 0 18 18", "aria-hidden": "true" },
    svg("circle", { cx: 9, cy: 9, r: 8, fill: AGENTS[(agent - 1) % AGENTS.length] || AGENTS[0] }),
    svg("text", { x: 9, y: 12.5, "text-anchor": "middle", fill: "#fff", "font-size": 10, "font-weight": 700 }, String(agent)));
}

function scatter(placed, standing) {
  const known = placed.filter((one) => typeof one.x === "number" && typeof one.y === "number");
  if (!known.length) return null;
  const range = (key) => {
    const all = known.map((one) => one[key]);
    const low = all.reduce((a, b) => Math.min(a, b)), high = all.reduce((a, b) => Math.max(a, b));
    return [low, high - low || 1];
  };
  const [left, wide] = range("x"), [low, tall] = range("y");
  const dots = known.map((one) => {
    const x = 20 + (280 * (one.x - left)) / wide, y = 190 - (160 * (one.y - low)) / tall;
    const colour = AGENTS[(one.agent - 1) % AGENTS.length] || AGENTS[0];
    const stays = standing.has(one.document);
    return svg("g", {},
      svg("circle", { cx: x, cy: y, r: 8, class: stays ? "" : "hollow", stroke: colour, "stroke-width": 2, ...(stays ? { fill: colour } : {}) }),
      svg("text", { x, y: y + 3.5, "text-anchor": "middle", "font-size": 10, "font-weight": 700, ...(stays ? { fill: "#fff" } : { class: "inky" }) }, String(one.agent)));
  });
  const says = known.length + " documents by how alike they are, numbered by agent; " + standing.size + " are behind the answer";
  return el("figure", {}, svg("svg", { viewBox: "0 0 320 210", role: "img", "aria-label": says }, dots),
    el("figcaption", { class: "soft" }, "Near points are alike. Filled: behind the answer. Hollow: dropped."));
}

function acts(of, titles) {
  const merges = (round) => of("merge").filter((event) => event.round === round).map((event) => {
    const fallen = (event.dropped || []).map((one) => oneLine(String(titles[one.document] || one.document), 60)
      + (typeof one.value === "number" ? " (" + score(one.value) + " against " + score(one.threshold) + ")" : ""));
    const seen = (event.kept || []).length + fallen.length;
    return el("p", {}, ...[].concat(event.of).map(dot), " into ", dot(event.into), " by " + event.by + ": "
      + (event.kept || []).length + " of " + seen + " documents stay"
      + (fallen.length ? "; out: " + fallen.join("; ") : ""));
  });
  const list = [];
  if (merges(0).length) list.push(el("li", {}, el("h4", {}, "Equal answers merge"), merges(0)));
  for (const event of of("round")) {
    const wrong = new Set(event.incorrect || []);
    list.push(el("li", {}, el("h4", {}, "Round " + event.round),
      (event.arguments || []).map((one) => el("div", { class: "argument" },
        el("p", {}, dot(one.agent), el("b", {}, oneLine(String(one.answer), 200) || "(nothing)"),
          wrong.has(one.agent) ? el("span", { class: "chip bad" }, "called incorrect") : null),
        one.evidence ? el("p", { class: "soft" }, "Evidence: ", ...longText(String(one.evidence), 400)) : null,
        one.explanation ? el("p", { class: "soft" }, "Explanation: ", ...longText(String(one.explanation), 400)) : null)),
      el("p", {}, el("b", {}, "Critic: "),
        typeof event.answer === "string" ? "“" + oneLine(event.answer, 200) + "” is consistent. " : "no consistent answer. ",
        event.readable === false ? "Its reply could not be read. " : "",
        event.explanation ? el("span", { class: "soft" }, ...longText(String(event.explanation), 500)) : null),
      merges(event.round)));
  }
  for (const event of of("end")) {
    list.push(el("li", {}, el("h4", {}, "End"), el("p", {}, "“", ...longText(String(event.answer), 400), "” stands: " + event.why
      + ", from " + count((event.documents || []).length, "document") + " of agent" + ((event.agents || []).length === 1 ? " " : "s ") + (event.agents || []).join(", "))));
  }
  return list;
}

function events(run, number, step, told) {
  const rows = told.slice(0, 500).map((event, n) => [
    String(n + 1), oneLine(String(event.event), 60),
    el("ul", { class: "facts" }, Object.entries(event).filter(([key]) => key !== "event").map(([key, value]) =>
      el("li", {}, el("b", {}, key + ": "), ...longText(typeof value === "string" ? value : JSON.stringify(value), 300)))),
  ]);
  const left = told.length - rows.length;
  return part(run, number, "events", "What " + stageName(step) + " tells", left ? "The first " + rows.length + " of " + told.length + " events." : "",
    table("Events of stage " + (number + 1) + " of " + run.label, ["number", "event", "facts"], rows));
}
