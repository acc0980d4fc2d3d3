/* SPDX-License-Identifier: Apache-2.0 */
/* The search of the manual: what people call a thing leads to it, then most words of the query, names before texts. manualIndex
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

/* Words of questions that say nothing of their subject. */
const smallWords = new Set(("a an and any are as at be but by can do does for from get give has have how i if in into is it its let make me my of on only or our " +
  "per put set should so some than that the their them there these this to turn up use using want we what when where which who why will with without you your").split(" "));

/* The words of a question that count: all of them if none is left. */
function wordsOfQuestion(words) {
  const left = words.map(word => word.replace(/[?!,;]+$|\.$/g, "")).filter(word => word && !smallWords.has(word));
  return left.length ? left : words;
}

/* A word without its ending: "caching" and "cached" are found where "cache" stands. */
function stem(word) {
  const cut = word.replace(/(?:ations?|ions?|ing|ies|ed|es|e|s|y)$/, "");
  return cut.length >= 4 ? cut : word.length > 3 ? word.replace(/s$/, "") : word;
}

/* What is typed is what people call it, its beginning, or has such names among its words: the more of these, the better. */
function weightOfNames(row, query, stems) {
  const covered = stems.map(() => 0);
  let best = 0;
  for (const [phrase, rank] of row[4]) {
    const parts = wordsOfQuestion(plainWords(phrase)).map(stem);
    if (phrase === query) best = Math.max(best, 1000 - 100 * rank);
    else if (query.length > 2 && phrase.startsWith(query)) best = Math.max(best, 200 - 30 * Math.min(rank, 3));
    if (stems.length > 1 && parts.every(part => stems.includes(part)))
      stems.forEach((word, i) => { if (parts.includes(word)) covered[i] = Math.max(covered[i], (450 + 50 * parts.length - 60 * Math.min(rank, 6)) / stems.length); });
  }
  return Math.max(best, covered.reduce((a, b) => a + b));
}

/* How well one word fits to a row: in its name, in what people call it, in its text. */
function weightOfWord(row, word) {
  const bare = row[0].toLowerCase().replace(/[<>]/g, ""), root = stem(word);
  if (bare === word) return 100;
  if (bare.startsWith(word)) return 40;
  if (bare.includes(root)) return 20;
  if (row[4].some(x => findWord(x[0], root) >= 0)) return 10;
  if (findWord(row[3].toLowerCase(), root) >= 0) return row[2] === "how to" ? 3 : 1;
  return 0;
}

/* [weight, row] of all rows that have at least half of the words. A word that few rows have counts more; a row without one of
   the words stands behind a similar one with all of them. */
function weights(words, query) {
  const stems = words.map(stem);
  const table = manualIndex.map(row => words.map(word => weightOfWord(row, word)));
  const rare = words.map((_, i) => 1 + Math.log(manualIndex.length / (1 + table.filter(fits => fits[i]).length)));
  return manualIndex.map((row, n) => {
    const names = weightOfNames(row, query, stems), has = table[n].filter(Boolean).length;
    if (!names && has * 2 < words.length) return [0, row];
    const share = has / words.length;
    return [names + share * share * table[n].reduce((sum, fit, i) => sum + fit * rare[i], 0) / Math.max(...rare), row];
  });
}

/* The best rows for a query. */
function searchManual(query) {
  const typed = plainWords(query), words = wordsOfQuestion(typed);
  return typed.length === 0 ? [] : weights(words, typed.join(" ")).filter(x => x[0])
    .sort((a, b) => b[0] - a[0] || a[1][0].length - b[1][0].length).slice(0, 12).map(x => x[1]);
}

/* Some 150 characters of a text around the first word that was asked for; whole words, with a mark where text is left out. */
function excerpt(text, words) {
  const lower = text.toLowerCase(), places = words.map(w => findWord(lower, stem(w))).filter(at => at >= 0);
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
  const words = wordsOfQuestion(plainWords(field.value)), rows = searchManual(field.value);
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
