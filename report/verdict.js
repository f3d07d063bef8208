// Fills the page of several attacks: a row of figures for each, with a link to its report.
"use strict";

const index = JSON.parse(document.getElementById("data").textContent);

fillHead(index);
setText("verdict-caption", index.caption);
const verdicts = byId("verdict");
const heads = verdicts.tHead.insertRow();
index.head.forEach((name) => heads.append(element("th", name)));
for (const { report, cells } of index.rows) {
  const row = verdicts.tBodies[0].insertRow();
  cells.forEach((text, place) => {
    const cell = row.insertCell();
    if (place > 0 || !report) return cell.append(text);
    const link = element("a", text);
    link.href = report;
    cell.append(link);
  });
}
byId("notes-part").hidden = index.notes.length === 0;
index.notes.forEach((note) => byId("notes").append(element("li", note)));
