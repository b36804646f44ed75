// What the pages do beside links and forms: focus, keys, the slider, new rows.
"use strict";

const ROWS_MAX = 50;
let follows = null;

function announce(text) {
  document.querySelector("#announcer").textContent = text;
}

function ready() {
  const slider = document.querySelector("#as_of");
  if (slider) {
    slider.addEventListener("input", () => {
      document.querySelector("#revision").value = slider.value;
    });
  }
  follow();
}

// New operations, while the timeline is shown.
function follow() {
  if (follows) {
    follows.close();
    follows = null;
  }
  const live = document.querySelector("#live");
  if (!live) return;
  let after = Number(live.dataset.after);
  follows = new EventSource(live.dataset.stream);
  follows.onmessage = (event) => {
    const rows = document.querySelector("#operations");
    const revision = Number(event.lastEventId);
    if (!rows || revision <= after) return;
    after = revision;
    const told = JSON.parse(event.data);
    rows.insertAdjacentHTML("afterbegin", told.row);
    while (rows.children.length > ROWS_MAX) rows.lastElementChild.remove();
    announce(`New: ${told.text}`);
  };
}

document.addEventListener("htmx:after:swap", () => {
  const said = document.querySelector("#said p");
  const heading = document.querySelector("h1");
  if (heading) heading.focus();
  announce([said && said.textContent, heading && heading.textContent].filter(Boolean).join(" "));
  ready();
});

document.addEventListener("keydown", (event) => {
  const page = document.querySelector("#page");
  if (!page || page.dataset.keys !== "on") return;
  if (event.ctrlKey || event.altKey || event.metaKey || event.isComposing || event.repeat) return;
  if (event.target.closest("input, textarea, select, [contenteditable]")) return;
  if (!/^[a-z]$/.test(event.key)) return;
  const wanted = document.querySelector(`[data-key="${event.key}"]`);
  if (wanted && !wanted.disabled) {
    event.preventDefault();
    wanted.click();
  }
});

ready();
