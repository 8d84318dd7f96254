// A link to this page as it is: cuts that were moved and, of a live page, the form, in the fragment.

const LONGEST = 100000; // characters of a link; programs that pass links on cut longer ones

// What the link in the address says; whoever wrote it, only values of the right kind are taken.
function linked() {
  let said = null;
  try { said = JSON.parse(decodeURIComponent(location.hash.slice(1))); } catch { /* no link of ours */ }
  const text = (value) => (typeof value === "string" ? value : "");
  const list = (value) => (Array.isArray(value) ? value : []);
  return { question: text(said?.question), documents: text(said?.documents), ask: said?.ask === true, divided: said?.divided === true,
    systems: list(said?.systems).map(text), at: list(said?.at).map((at) => (at && typeof at === "object" ? at : {})) };
}

function copyLink(event) {
  const says = event.currentTarget;
  const at = runs.map((run) => (run.changed ? run.at : {}));
  const fragment = encodeURIComponent(JSON.stringify({ ...(given.live ? formState() : {}), at }));
  if (fragment.length > LONGEST) says.textContent = "Too long for a link";
  else {
    history.replaceState(null, "", "#" + fragment);
    says.textContent = "Link is in the address bar";
    navigator.clipboard?.writeText(location.href).then(() => { says.textContent = "Link copied"; }, () => {});
  }
  setTimeout(() => { says.textContent = "Copy link"; }, 2500);
}
