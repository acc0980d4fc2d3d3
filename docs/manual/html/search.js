/* SPDX-License-Identifier: Apache-2.0 */
/* The search of the manual: what people call a thing leads to it, then all words of the query, names before texts. manualIndex
   comes from index.js: rows of name, address, kind, text and [words, rank] that lead there. */
"use strict";

function plainWords(text) {
  return text.toLowerCase().replace(/[<>]/g, "").split(/\s+/).filter(Boolean);
}

/* Where a word begins in a text, -1 if nowhere: only at the beginnings of words. */
function findWord(text, word) {
  for (let at = text.indexOf(word); at >= 0; at = text.indexOf(word, at + 1)) {
    if (at === 0 || !/[a-z0-9]/.test(text[at - 1]) || !/[a-z0-9]/.test(word[0])) return at;
  }
  return -1;
}

/* What is typed is what people call it, or its beginning. */
function weightOfNames(row, query) {
  let best = 0;
  for (const [words, rank] of row[4]) {
    if (words === query) best = Math.max(best, 1000 - 100 * rank);
    else if (query.length > 2 && words.startsWith(query)) best = Math.max(best, 100 - 30 * Math.min(rank, 3));
  }
  return best;
}

function weight(row, words, query) {
  const name = row[0].toLowerCase(), bare = name.replace(/[<>]/g, ""), text = row[3].toLowerCase();
  const called = row[4].map(x => x[0]).join(" ");
  let sum = weightOfNames(row, query);
  const known = sum > 0;
  for (const word of words) {
    if (bare === word) sum += 100;
    else if (bare.startsWith(word)) sum += 40;
    else if (bare.includes(word)) sum += 20;
    else if (findWord(called, word) >= 0) sum += 10;
    else if (findWord(text, word) >= 0) sum += row[2] === "how to" ? 3 : 1;
    else if (!known) return 0;
  }
  return sum;
}

/* The best rows for a query. */
function searchManual(query) {
  const words = plainWords(query), whole = words.join(" ");
  return words.length === 0 ? [] : manualIndex.map(row => [weight(row, words, whole), row]).filter(x => x[0])
    .sort((a, b) => b[0] - a[0] || a[1][0].length - b[1][0].length).slice(0, 12).map(x => x[1]);
}

/* Some 150 characters of a text around the first word that was asked for; whole words, with a mark where text is left out. */
function excerpt(text, words) {
  const lower = text.toLowerCase(), places = words.map(w => findWord(lower, w)).filter(at => at >= 0);
  let from = places.length ? Math.max(0, Math.min(...places) - 50) : 0;
  if (from > 0) from = text.indexOf(" ", from) + 1;
  let to = Math.min(text.length, from + 150);
  if (to < text.length) to = Math.max(text.lastIndexOf(" ", to), from);
  if (to === from) to = text.length;
  return (from > 0 ? "\u2026 " : "") + text.slice(from, to) + (to < text.length ? " \u2026" : "");
}

if (typeof document !== "undefined") {
const field = document.getElementById("q");
const found = document.getElementById("found");

function element(tag, text) {
  const e = document.createElement(tag);
  e.textContent = text;
  return e;
}

function show() {
  const words = plainWords(field.value), rows = searchManual(field.value);
  found.hidden = words.length === 0;
  found.replaceChildren();
  if (!rows.length) {
    if (words.length) found.append(element("p", "Nothing has these words."));
    return;
  }
  const list = document.createElement("ul");
  for (const row of rows) {
    const item = document.createElement("li"), link = element("a", row[0]);
    link.href = row[1];
    item.append(link, element("span", row[2]), element("p", excerpt(row[3], words)));
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
}
