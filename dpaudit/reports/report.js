"use strict";
// Comfort only: everything on the page can be read without this script. It never builds markup from text.
(() => {
  const all = (css) => [...document.querySelectorAll(css)];
  const rows = all("tr.row");
  const section = new Map(rows.map((row) => [row, document.getElementById(row.dataset.at)]));
  const find = document.querySelector(".find");
  const choices = all("select.by");

  function fits(row, text) {
    for (const choice of choices) {
      const wanted = choice.value;
      if (choice.dataset.field === "verdict" && wanted === "alarm" && choice.selectedIndex === 1) {
        if (row.dataset.alarm !== "yes") return false;
      } else if (choice.selectedIndex > 0 && row.dataset[choice.dataset.field] !== wanted) return false;
    }
    return !text || row.textContent.toLowerCase().includes(text);
  }

  function filter() {
    const text = find.value.trim().toLowerCase();
    let shown = 0;
    for (const row of rows) {
      const keep = fits(row, text);
      row.hidden = !keep;
      section.get(row).hidden = !keep;
      shown += keep;
    }
    for (const box of all(".fold, .pair > div, .group")) box.hidden = !box.querySelector("details.claim:not([hidden])");
    document.querySelector(".shown").textContent = shown === rows.length ? "" : `${shown} of ${rows.length}`;
    document.querySelector("p.none").hidden = shown > 0;
  }

  function sort(head) {
    const field = head.dataset.sort;
    const down = head.getAttribute("aria-sort") === "ascending";
    all(".verdicts th").forEach((other) => other.removeAttribute("aria-sort"));
    head.setAttribute("aria-sort", down ? "descending" : "ascending");
    const number = "number" in head.dataset || field === "rank";
    const compare = (a, b) => {
      const [x, y] = [a.dataset[field], b.dataset[field]];
      if (x === "" || y === "") return (x === "") - (y === ""); // missing numbers stay last in both directions
      const order = number ? Number(x) - Number(y) : x.localeCompare(y, "en", { numeric: true });
      return (down ? -order : order) || a.dataset.rank - b.dataset.rank;
    };
    document.querySelector(".verdicts tbody").append(...[...rows].sort(compare));
  }

  function reveal() {
    let name = "";
    try { name = decodeURIComponent(location.hash.slice(1)); } catch { return; }
    const target = name && document.getElementById(name);
    if (!target || !target.closest("details")) return;
    for (let box = target; box; box = box.parentElement) if (box.tagName === "DETAILS") box.open = true;
    target.scrollIntoView();
  }

  function copy(button) {
    const code = button.previousElementSibling;
    const range = document.createRange();
    range.selectNodeContents(code);
    getSelection().removeAllRanges();
    getSelection().addRange(range);
    const done = () => { button.textContent = "copied"; setTimeout(() => { button.textContent = "copy"; }, 1500); };
    if (navigator.clipboard) navigator.clipboard.writeText(code.textContent).then(done, () => document.execCommand("copy") && done());
    else if (document.execCommand("copy")) done();
  }

  if (rows.length) {
    document.querySelector(".filters").hidden = false;
    find.addEventListener("input", filter);
    choices.forEach((choice) => choice.addEventListener("change", filter));
    filter(); // a reloaded page keeps its filters
    for (const head of all(".verdicts th[data-sort]")) {
      const button = document.createElement("button");
      button.type = "button";
      button.textContent = head.textContent;
      button.addEventListener("click", () => sort(head));
      head.replaceChildren(button);
    }
    const sections = [...section.values(), ...all(".fold")];
    document.querySelector(".open-all").addEventListener("click", () => sections.forEach((one) => { one.open = !one.hidden || one.open; }));
    document.querySelector(".close-all").addEventListener("click", () => sections.forEach((one) => { one.open = false; }));
  }
  all("button.copy").forEach((button) => { button.hidden = false; button.addEventListener("click", () => copy(button)); });
  addEventListener("hashchange", reveal);
  all('a[href^="#"]').forEach((link) => link.addEventListener("click", () => setTimeout(reveal))); // the same link twice
  let closed = [];
  addEventListener("beforeprint", () => { closed = all("details:not([open])"); closed.forEach((one) => { one.open = true; }); });
  addEventListener("afterprint", () => closed.forEach((one) => { one.open = false; }));
  reveal();
})();
