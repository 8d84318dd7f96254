// What the theme draws after loading: wide tables can be reached by keys, buttons are no navigation.
const mend = () => {
  for (const box of document.querySelectorAll(".md-typeset__scrollwrap:not([tabindex])")) box.tabIndex = 0;
  for (const box of document.querySelectorAll("nav.md-code__nav:not([role])")) box.setAttribute("role", "group");
};
new MutationObserver(mend).observe(document.body, { childList: true, subtree: true });
mend();
