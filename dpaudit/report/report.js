"use strict";
// Filters, sorting and links, and in a long report the evidence, which unfolds on demand. All markup comes from the
// packs of this page, which were escaped when they were made. No text is read as markup.
(() => {
  const all = (css, at = document) => [...at.querySelectorAll(css)];
  let rows = all("tr.row");
  const units = all(".unit");
  const home = new Map(units.flatMap((unit) => unit.dataset.has.split(" ").map((anchor) => [anchor, unit])));
  const table = document.querySelector(".verdicts");
  const waiting = (table?.dataset.more ?? "").split(" ").filter(Boolean);
  const find = document.querySelector(".find");
  const choices = all("select.by");
  const texts = new Map();
  const packs = new Map();
  const MOST = 200; // units that one click opens

  async function unpack(name) {
    const bytes = Uint8Array.from(atob(document.getElementById(name).textContent), (c) => c.charCodeAt(0));
    const plain = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("deflate"));
    return JSON.parse(await new Response(plain).text());
  }

  function showProblem(box) {
    const message = document.createElement("p");
    message.className = "problem";
    message.textContent = "This browser cannot unpack the rest. The JSON report has it.";
    box.append(message);
  }

  let filling = null;
  function complete() { // load the whole table in parts, so that the page stays responsive
    filling ??= (async () => {
      const rest = document.querySelector(".rest");
      const status = document.querySelector(".shown");
      try {
        while (waiting.length) {
          table.tBodies[0].insertAdjacentHTML("beforeend", (await unpack(waiting.shift())).join(""));
          status.textContent = `reading rows: ${waiting.length} parts left`;
          await new Promise((go) => setTimeout(go));
        }
        rest?.remove();
      } catch { showProblem(rest); }
      rows = all("tr.row");
      filter();
    })();
    return filling;
  }

  async function fill(unit) {
    const { pack, part } = unit.dataset;
    if (!pack) return;
    delete unit.dataset.pack;
    if (!packs.has(pack)) packs.set(pack, unpack(pack));
    try {
      unit.insertAdjacentHTML("beforeend", (await packs.get(pack))[part]);
      prepare(unit);
      filter();
    } catch { showProblem(unit); }
  }

  function fits(row, text) {
    for (const choice of choices) {
      const wanted = choice.value;
      if (choice.dataset.field === "verdict" && wanted === "alarm" && choice.selectedIndex === 1) {
        if (row.dataset.alarm !== "yes") return false;
      } else if (choice.selectedIndex > 0 && row.dataset[choice.dataset.field] !== wanted) return false;
    }
    if (!text) return true;
    if (!texts.has(row)) texts.set(row, row.textContent.toLowerCase());
    return texts.get(row).includes(text);
  }

  function filter() {
    const text = find.value.trim().toLowerCase();
    const kept = new Set();
    let shown = 0;
    for (const row of rows) {
      const keep = fits(row, text);
      row.hidden = !keep;
      const section = document.getElementById(row.dataset.at);
      if (section) section.hidden = !keep;
      if (keep) kept.add(home.get(row.dataset.at));
      shown += keep;
    }
    for (const unit of units) unit.hidden = !waiting.length && !kept.has(unit);
    for (const box of all(".fold, .pair > div")) box.hidden = !box.querySelector("details.claim:not([hidden])");
    document.querySelector(".shown").textContent = shown === rows.length || waiting.length ? "" : `${shown} of ${rows.length}`;
    document.querySelector("p.none").hidden = shown > 0;
  }

  async function sort(head) {
    await complete();
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
    table.tBodies[0].append(...[...rows].sort(compare));
  }

  async function reveal() {
    let name = "";
    try { name = decodeURIComponent(location.hash.slice(1)); } catch { return; }
    const unit = home.get(name);
    if (unit) await fill(unit);
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
    const search = () => (waiting.length ? complete() : filter());
    find.addEventListener("input", search);
    choices.forEach((choice) => choice.addEventListener("change", search));
    const button = document.querySelector(".all-rows");
    if (button) {
      button.hidden = false;
      button.addEventListener("click", complete);
      new IntersectionObserver((seen) => { if (seen.some((one) => one.isIntersecting)) complete(); }).observe(button);
    }
    if (find.value || choices.some((choice) => choice.selectedIndex > 0)) search(); // a reloaded page keeps its filters
    for (const head of all(".verdicts th[data-sort]")) {
      const button = document.createElement("button");
      button.type = "button";
      button.textContent = head.textContent;
      button.addEventListener("click", () => sort(head));
      head.replaceChildren(button);
    }
    const inside = () => [...units, ...all(".unit .claim, .unit .fold")];
    document.querySelector(".open-all").addEventListener("click", async () => {
      await Promise.all(units.filter((unit) => !unit.hidden).slice(0, MOST).map(fill));
      const opened = inside().filter((one) => !one.hidden && !one.dataset.pack);
      opened.forEach((one) => { one.open = true; });
    });
    document.querySelector(".close-all").addEventListener("click", () => inside().forEach((one) => { one.open = false; }));
    addEventListener("toggle", (event) => { if (event.target.open) fill(event.target); }, true);
  }
  function prepare(part) {
    all("button.copy", part).forEach((button) => { button.hidden = false; button.addEventListener("click", () => copy(button)); });
  }

  prepare(document);
  addEventListener("hashchange", reveal);
  // A second click on a link does not change the address, so it fires no hashchange event.
  addEventListener("click", (event) => { if (event.target.closest?.('a[href^="#"]')) setTimeout(reveal); });
  let closed = [];
  addEventListener("beforeprint", () => { closed = all("details:not([open]):not([data-pack])"); closed.forEach((one) => { one.open = true; }); });
  addEventListener("afterprint", () => closed.forEach((one) => { one.open = false; }));
  reveal();
})();
