// Runs before the first paint, so that the page never flashes in the wrong colours. It is a file of its own
// because the content security policy allows no inline script.
(() => {
  let choice = null;
  try {
    choice = localStorage.getItem("ostler.theme");
  } catch {
    // Storage can be switched off; the system's setting then decides.
  }
  const dark =
    choice === "dark" || (choice !== "light" && matchMedia("(prefers-color-scheme: dark)").matches);
  document.documentElement.dataset.theme = dark ? "dark" : "light";
})();
