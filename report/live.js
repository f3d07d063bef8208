// Follows a run that goes on: progress often, everything else when the run has told it.
"use strict";

function showProgress({ share, words }) {
  byId("progress").hidden = false;
  byId("progress-bar").value = share;
  setText("progress-words", words);
}

/** Says what became of the run once nothing more will come. */
function showOver(words) {
  byId("progress-bar").hidden = true;
  setText("progress-words", words);
}

function follow() {
  const source = new EventSource("events");
  let over = false;
  source.addEventListener("progress", (event) => showProgress(JSON.parse(event.data)));
  source.addEventListener("report", (event) => { showPage(JSON.parse(event.data)); fairlane.updates += 1; });
  source.addEventListener("end", () => {
    over = true;
    source.close();
    showOver("The run has ended; this is its report.");
  });
  source.addEventListener("error", () => {
    if (over) return;
    source.close();
    showOver(shown.data ? "The run can't be reached any more; this is what it told last." : "The run can't be reached any more.");
  });
}

fairlane.updates = 0;
setText("name", document.title.replace(/ · Fairlane$/, ""));
setText("ending", "Starting");
byId("ending").className = "badge running";
showProgress({ share: 0, words: "waiting for the first figures" });
follow();
