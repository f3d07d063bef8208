// What all pages have in common: elements, head, tables, downloads.
"use strict";

function byId(id) {
  return document.getElementById(id);
}

function element(kind, text, className) {
  const node = document.createElement(kind);
  if (text !== undefined) node.textContent = text;
  if (className) node.className = className;
  return node;
}

function setText(id, text) {
  byId(id).textContent = text;
}

/** A small table; `head` may be null. */
function table(head, rows) {
  const whole = element("table");
  const fill = (row, kind, cells) => cells.forEach((cell) => row.append(element(kind, cell)));
  if (head) fill(whole.createTHead().insertRow(), "th", head);
  const body = whole.createTBody();
  rows.forEach((cells) => fill(body.insertRow(), "td", cells));
  return whole;
}

/** Eyebrow, title, badge, facts and version; `facts` are pairs of label and text. */
function fillHead({ eyebrow, title, badge, facts, version }) {
  setText("eyebrow", eyebrow);
  setText("name", title);
  setText("version", version);
  setText("ending", badge.text);
  byId("ending").className = `badge ${badge.kind}`;
  byId("facts").replaceChildren(...facts.map(([label, text]) => {
    const fact = element("div");
    fact.append(element("dt", label), element("dd", text));
    return fact;
  }));
}

/** Shows which of several buttons holds; their ids end with the names. */
function press(prefix, names, pressed) {
  for (const name of names) byId(`${prefix}${name}`).setAttribute("aria-pressed", String(name === pressed));
}

// Downloads --------------------------------------------------------------------------------------

function saveFile(name, kind, text) {
  const link = element("a");
  link.href = URL.createObjectURL(new Blob([text], { type: kind }));
  link.download = name;
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 1000);
}

/** Rows as CSV (RFC 4180); nothing for what isn't there. */
function csvText(rows) {
  const cell = (value) => {
    const text = value === null || value === undefined ? "" : String(value);
    return /[",\n\r]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
  };
  return rows.map((row) => `${row.map(cell).join(",")}\r\n`).join("");
}

/** The name of a file without its end: of the page and of the chart. */
function fileName(...parts) {
  return parts.join("-").toLowerCase().replace(/[^a-z0-9.]+/g, "-").replace(/^-+|-+$/g, "") || "chart";
}

/** Offers what `svg()` and `csv()` give in the head of the panel around `host`; nothing if there is nothing. */
function offerDownloads(host, name, makers) {
  const head = host.closest(".panel")?.querySelector(".panel-head");
  if (!head) return;
  const group = host.id || "chart";
  head.querySelector(`[data-of="${group}"]`)?.remove();
  if (!makers) return;
  const box = element("span", undefined, "downloads screen-only");
  box.dataset.of = group;
  const kinds = { svg: "image/svg+xml", csv: "text/csv" };
  for (const [end, kind] of Object.entries(kinds)) {
    const button = element("button", end.toUpperCase());
    button.type = "button";
    button.title = `Download ${name} as ${end.toUpperCase()}`;
    button.addEventListener("click", () => saveFile(`${fileName(byId("name").textContent, name)}.${end}`, kind, makers[end]()));
    box.append(button);
  }
  head.append(box);
}
