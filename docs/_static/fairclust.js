// Tables that scroll sideways can be reached by the keyboard, and the search button is called what it shows.
document.addEventListener("DOMContentLoaded", () => {
  for (const table of document.querySelectorAll(".bd-article table")) table.tabIndex = 0;
  for (const button of document.querySelectorAll(".search-button-field")) button.removeAttribute("aria-label");
});
