/* SPDX-License-Identifier: Apache-2.0 */
/* The search of the manual: all words of the query, names before texts. manualIndex comes from index.js. */
"use strict";
const field = document.getElementById("q");
const found = document.getElementById("found");

function weight(row, words) {
  const name = row[0].toLowerCase(), text = row[3].toLowerCase();
  let sum = 0;
  for (const word of words) {
    if (name === word) sum += 100;
    else if (name.startsWith(word)) sum += 40;
    else if (name.includes(word)) sum += 20;
    else if (text.includes(word)) sum += 1;
    else return 0;
  }
  return sum;
}

function element(tag, text) {
  const e = document.createElement(tag);
  e.textContent = text;
  return e;
}

function show() {
  const words = field.value.toLowerCase().replace(/[<>]/g, "").split(/\s+/).filter(Boolean);
  const rows = words.length === 0 ? [] : manualIndex.map(row => [weight(row, words), row]).filter(x => x[0])
    .sort((a, b) => b[0] - a[0] || a[1][0].length - b[1][0].length).slice(0, 12);
  found.hidden = words.length === 0;
  found.replaceChildren();
  if (!rows.length) {
    if (words.length) found.append(element("p", "Nothing has these words."));
    return;
  }
  const list = document.createElement("ul");
  for (const [, row] of rows) {
    const item = document.createElement("li"), link = element("a", row[0]);
    link.href = row[1];
    item.append(link, element("span", row[2]), element("p", row[3].slice(0, 140)));
    list.append(item);
  }
  found.append(list);
}

field.addEventListener("input", show);
field.value = new URLSearchParams(location.search).get("q") || field.value;
show();
field.form.addEventListener("submit", event => {
  event.preventDefault();
  const first = found.querySelector("a");
  if (first) location.href = first.href;
});
found.addEventListener("click", event => {
  if (event.target.closest("a")) { field.value = ""; show(); }
});
document.addEventListener("keydown", event => {
  if (event.key === "/" && document.activeElement !== field) { event.preventDefault(); field.focus(); }
  else if (event.key === "Escape" && document.activeElement === field) { field.value = ""; show(); }
});
