// Tables that scroll sideways can be reached by the keyboard, and the search button is called what it shows.
// What unfolds a part of the menu has a name. Long names in the menu break after a dot or an underscore, not anywhere.
document.addEventListener("DOMContentLoaded", () => {
  for (const table of document.querySelectorAll(".bd-article table")) table.tabIndex = 0;
  for (const button of document.querySelectorAll(".search-button-field")) button.removeAttribute("aria-label");
  for (const summary of document.querySelectorAll(".bd-sidebar-primary summary")) {
    const title = summary.closest("li")?.querySelector("a")?.textContent.trim();
    summary.setAttribute("aria-label", `Pages under ${title}`);
  }
  for (const link of document.querySelectorAll(".bd-sidebar-primary a.reference.internal")) {
    if (link.children.length === 0 && /^[\w.]{16,}$/.test(link.textContent.trim())) {
      const parts = link.textContent.trim().split(/(?<=[._])|(?<=[a-z])(?=[A-Z])/);
      link.replaceChildren(...parts.flatMap((part) => [part, document.createElement("wbr")]));
    }
  }
});
