/* SPDX-License-Identifier: Apache-2.0 */
/* Examples can be copied, and the list of all directives has a filter. */
"use strict";

async function copyText(text) {
  if (navigator.clipboard && window.isSecureContext) return navigator.clipboard.writeText(text);
  const area = document.body.appendChild(document.createElement("textarea"));
  area.value = text;
  area.select();
  const copied = document.execCommand("copy");
  area.remove();
  if (!copied) throw new Error("not copied");
}

for (const example of document.querySelectorAll("pre")) {
  const around = document.createElement("div"), button = document.createElement("button");
  around.className = "example";
  button.type = "button";
  button.textContent = "Copy";
  button.setAttribute("aria-label", "Copy this example");
  button.addEventListener("click", async () => {
    try {
      await copyText(example.textContent.replace(/\n?$/, "\n"));
      button.textContent = "Copied";
    } catch {
      button.textContent = "Not copied";
    }
    button.setAttribute("aria-label", button.textContent);
    setTimeout(() => { button.textContent = "Copy"; button.setAttribute("aria-label", "Copy this example"); }, 2000);
    button.focus();
  });
  example.replaceWith(around);
  example.tabIndex = 0;
  around.append(example, button);
}

const only = document.getElementById("only");
if (only) {
  const items = [...document.querySelectorAll(".all li")], count = document.getElementById("count");
  const show = () => {
    const parts = only.value.toLowerCase().split(/\s+/).filter(Boolean);
    for (const item of items) item.hidden = !parts.every(part => item.textContent.toLowerCase().includes(part));
    count.textContent = items.filter(item => !item.hidden).length;
  };
  only.addEventListener("input", show);
  show();
}
