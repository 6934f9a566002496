"use strict";
(() => {
  // Values of a mark, beside the pointer.
  const tip = document.getElementById("tip");
  const show = (event) => {
    const mark = event.target.closest && event.target.closest("[data-tip]");
    tip.classList.toggle("on", Boolean(mark));
    if (!mark) return;
    tip.textContent = mark.dataset.tip;
    const { width, height } = tip.getBoundingClientRect();
    const x = Math.min(Math.max(8, event.clientX + 14), innerWidth - width - 8);
    const above = event.clientY - height - 14;
    tip.style.left = x + "px";
    tip.style.top = (above > 8 ? above : event.clientY + 18) + "px";
  };
  addEventListener("pointermove", show);
  addEventListener("pointerdown", show);
  addEventListener("scroll", () => tip.classList.remove("on"), { passive: true });

  // A name in a legend lights up what it names.
  for (const chip of document.querySelectorAll(".chip[data-series]")) {
    const light = (on) => {
      for (const figure of document.querySelectorAll("figure:has(.mark)")) {
        figure.classList.toggle("dimmed", on);
        for (const part of figure.querySelectorAll("." + chip.dataset.series)) part.classList.toggle("lit", on);
      }
    };
    chip.addEventListener("pointerenter", () => light(true));
    chip.addEventListener("pointerleave", () => light(false));
  }

  // Tables are sorted by a click on the head of a column.
  for (const table of document.querySelectorAll("table.sortable")) {
    const heads = [...table.tHead.rows[0].cells];
    heads.forEach((head, column) => {
      head.querySelector("button").addEventListener("click", () => {
        const first = head.dataset.first;
        const before = head.getAttribute("aria-sort");
        const way = before === "ascending" ? "descending" : before === "descending" ? "ascending" : first;
        for (const other of heads) other.removeAttribute("aria-sort");
        head.setAttribute("aria-sort", way);
        const sign = way === "ascending" ? 1 : -1;
        const value = (row) => row.cells[column].dataset.value;
        const compare = (a, b) => {
          const [x, y] = [value(a), value(b)];
          return sign * (isNaN(x) || isNaN(y) ? x.localeCompare(y) : x - y);
        };
        table.tBodies[0].append(...[...table.tBodies[0].rows].sort(compare));
      });
    });
  }

  for (const button of document.querySelectorAll(".copy")) {
    button.addEventListener("click", async () => {
      try {
        await navigator.clipboard.writeText(button.previousElementSibling.textContent);
        button.textContent = "Copied";
      } catch {
        getSelection().selectAllChildren(button.previousElementSibling);
      }
    });
  }
})();
