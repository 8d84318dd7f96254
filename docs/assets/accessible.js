// What the theme draws: wide tables can be reached by keys, buttons are no navigation, sections
// have names.
const mend = () => {
  for (const box of document.querySelectorAll(".md-typeset__scrollwrap:not([tabindex])")) box.tabIndex = 0;
  for (const box of document.querySelectorAll("nav.md-code__nav:not([role])")) box.setAttribute("role", "none");
  for (const nav of document.querySelectorAll("nav.md-nav[aria-labelledby]")) {
    nav.setAttribute("aria-label", nav.parentElement.querySelector(".md-nav__link").textContent.trim());
    nav.removeAttribute("aria-labelledby");
  }
};
new MutationObserver(mend).observe(document.body, { childList: true, subtree: true });
mend();
