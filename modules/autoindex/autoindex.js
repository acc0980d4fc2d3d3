/* SPDX-License-Identifier: Apache-2.0 */
/* The field above a listing shows, while one types, only names that have all of its words; "*.pdf" is a pattern, as the server has it. */
"use strict";
{
  const field = document.querySelector("#bar input"), told = document.querySelector("#bar p");
  const rows = [...document.querySelectorAll("tbody tr:not(#up)")].filter(row => row.querySelector("a"));

  const asPattern = text => new RegExp("^" + text.replace(/[.+^${}()|\\]/g, "\\$&").replace(/\*/g, ".*").replace(/\?/g, ".") + "/?$", "i");
  const plain = text => text.normalize("NFD").replace(/[\u0300-\u036f]/g, "").toLowerCase();

  function fits(text) {
    if (/[*?[]/.test(text)) {
      try {
        const pattern = asPattern(text);
        return name => pattern.test(name);
      } catch {
        return () => true;
      }
    }
    const words = plain(text).split(/\s+/).filter(Boolean);
    return name => words.every(word => plain(name).includes(word));
  }

  if (field && rows.length) {
    const all = told.textContent;
    field.addEventListener("input", () => {
      const fit = fits(field.value.trim());
      for (const row of rows) row.hidden = !fit(row.querySelector("a").textContent);
      told.textContent = field.value.trim() ? `${rows.filter(row => !row.hidden).length} of ${all}` : all;
    });
  }
}
