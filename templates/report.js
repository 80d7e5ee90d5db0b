"use strict";
// Steps through a warp's requests, lane by lane.  Every picture and every sentence is in the page; nothing is fetched.
for (const figure of document.querySelectorAll("figure.steps")) {
  const steps = Array.from(figure.querySelectorAll(".step"));
  const slider = figure.querySelector("input"), told = figure.querySelector("output");
  const button = (names) => figure.querySelector(`button.${names}`);
  const heads = figure.querySelector(".heads");
  let request = steps.findIndex((step) => !step.hidden), lane = -1;
  const show = () => {
    steps.forEach((step, number) => { step.hidden = number !== request; });
    const step = steps[request];
    heads.textContent = step.querySelector(".words").textContent;
    for (const cell of step.querySelectorAll("g")) {
      const lanes = cell.dataset.lanes.split(" ").map(Number);
      // Cells fill lane by lane: those of lanes to come are pale.
      cell.setAttribute("class", lane < 0 ? "" : lanes.includes(lane) ? "now" : Math.min(...lanes) > lane ? "later" : "");
    }
    told.textContent = lane < 0 ? told.dataset.none : step.querySelectorAll(".said li")[lane].textContent;
    slider.value = lane;
    slider.setAttribute("aria-valuetext", told.textContent);
    button("request.back").disabled = request === 0;
    button("request.on").disabled = request === steps.length - 1;
    button("lane.back").disabled = lane < 0;
    button("lane.on").disabled = lane === 31;
  };
  const go = (names, act) => button(names).addEventListener("click", () => { act(); show(); });
  go("request.back", () => { request -= 1; });
  go("request.on", () => { request += 1; });
  go("lane.back", () => { lane -= 1; });
  go("lane.on", () => { lane += 1; });
  slider.addEventListener("input", () => { lane = Number(slider.value); show(); });
  for (const one of figure.querySelectorAll("button.request")) one.hidden = steps.length === 1;
  figure.querySelector(".controls").hidden = false;
  show();
}
