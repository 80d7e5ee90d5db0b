"use strict";
// Hands files in and shows what becomes of them.  Everything is put in as text, so nothing of a student's acts.

const words = document.body.dataset;
const drop = document.getElementById("drop");
const chosen = document.getElementById("file");
const labs = document.getElementById("lab");
// Until somebody chooses a lab, a file that is named after one is that lab's, as on the command line.
let isLabChosen = false;
labs.addEventListener("change", () => { isLabChosen = true; });

function labOf(name) {
  const stem = name.replace(/\.[^.]*$/, "").toLowerCase();
  const named = isLabChosen ? undefined : [...labs.options].find((option) => option.value.toLowerCase() === stem);
  return named || labs.selectedOptions[0];
}

function element(name, text, className) {
  const made = document.createElement(name);
  if (text) made.textContent = text;
  if (className) made.className = className;
  return made;
}

const pause = (seconds) => new Promise((resolve) => setTimeout(resolve, 1000 * seconds));

async function handIn(file) {
  const card = element("article");
  let lab = labOf(file.name);
  const title = element("h2", file.name);
  const status = element("p", words.waiting);
  const checks = element("div", "", "wide");
  const rest = element("div");
  card.append(title, status, checks, rest);
  document.getElementById("jobs").prepend(card);
  while (!lab.value) {
    // Of several labs none is meant more than another.
    status.textContent = words.which;
    labs.focus();
    await new Promise((resolve) => labs.addEventListener("change", resolve, { once: true }));
    lab = labs.selectedOptions[0];
  }
  labs.value = lab.value;
  title.textContent += " · " + lab.text;
  status.textContent = words.waiting;
  const query = new URLSearchParams({ lab: lab.value, name: file.name, lang: words.language });
  for (;;) {
    let answer;
    try {
      answer = await fetch("jobs?" + query, { method: "POST", body: file });
    } catch {
      status.textContent = words.unreachable;
      await pause(3);
      continue;
    }
    const told = await answer.json().catch(() => ({ reason: String(answer.status) }));
    if (answer.ok) {
      if (await follow(told.id, status, checks, rest)) return;
      // The server was started anew and knows nothing of the file.
      status.textContent = words.unreachable;
      await pause(3);
      continue;
    }
    status.textContent = told.reason;
    if (answer.status !== 429 && answer.status !== 503) return void (status.className = "fail");
    await pause(Number(answer.headers.get("Retry-After")) || 5);
  }
}

// Shows what becomes of a job; true when it is over, false when the server no longer knows it.
function follow(id, status, checks, rest) {
  return new Promise((resolve) => {
    const source = new EventSource("jobs/" + id + "/events");
    source.onmessage = (event) => {
      const state = JSON.parse(event.data);
      show(state, status, checks, rest);
      if (!state.over) return;
      source.close();
      resolve(true);
    };
    source.onerror = () => {
      // A connection that was lost is taken up again by itself.
      if (source.readyState === EventSource.CLOSED) resolve(false);
    };
  });
}

function show(state, status, checks, rest) {
  status.className = state.key ? "verdict " + state.key : "";
  status.textContent = state.verdict || state.reason || words[state.state];
  if (state.state === "refused" || state.state === "failed") status.className = "fail";
  if (state.state === "failed") status.textContent = words.failed + " " + state.reason;
  checks.replaceChildren(table(state.checks));
  rest.replaceChildren();
  for (const line of state.unjudged || []) rest.append(element("p", line));
  if (state.faults && state.faults.length) rest.append(faults(state.faults));
  if (state.state === "judged") rest.append(element("p", words.judged));
  if (state.report) {
    const link = element("a", words.report);
    link.href = state.report;
    link.target = "_blank";
    link.rel = "noopener";
    const frame = element("iframe");
    frame.src = state.report;
    frame.title = words.report;
    // A stranger to this page; its policy lets the one script of ours run.
    frame.setAttribute("sandbox", "allow-scripts");
    const line = element("p");
    line.append(link);
    rest.append(line, frame);
  }
}

function table(checks) {
  const made = element("table", "", "matrix");
  const variants = [...new Set(checks.map((check) => check.variant))];
  if (!checks.length) return made;
  const head = made.createTHead().insertRow();
  head.append(element("th", words.check), ...variants.map((name) => element("th", name)));
  const body = made.createTBody();
  for (const title of new Set(checks.map((check) => check.title))) {
    const row = body.insertRow();
    row.append(element("th", title));
    for (const variant of variants) {
      const check = checks.find((one) => one.title === title && one.variant === variant);
      const cell = element("td", check ? check.symbol : "", check ? "mark " + check.key : "");
      if (check) cell.append(" ", element("span", check.word, "word"));
      if (check && check.points) cell.append(" ", element("small", check.points));
      row.append(cell);
    }
  }
  return made;
}

function faults(found) {
  const made = element("div");
  made.append(element("h3", words.fix));
  const list = element("ol");
  for (const fault of found) {
    const item = element("li");
    item.append(element("strong", fault.check + (fault.variants ? " · " + fault.variants : "")));
    if (fault.lost) item.append(" −" + fault.lost);
    if (fault.where) item.append(element("div", fault.where));
    const lines = [fault.code_before, fault.code].filter(Boolean);
    if (lines.length) item.append(element("pre", lines.join("\n")));
    item.append(element("div", fault.message));
    if (fault.hint) item.append(element("div", "→ " + fault.hint));
    for (const line of fault.follows) item.append(element("div", "· " + line, "follows"));
    list.append(item);
  }
  made.append(list);
  return made;
}

for (const name of ["dragenter", "dragover"]) {
  document.addEventListener(name, (event) => { event.preventDefault(); drop.classList.add("over"); });
}
document.addEventListener("dragleave", () => drop.classList.remove("over"));
document.addEventListener("drop", (event) => {
  event.preventDefault();
  drop.classList.remove("over");
  for (const file of event.dataTransfer.files) handIn(file);
});
drop.addEventListener("keydown", (event) => { if (event.key === "Enter" || event.key === " ") chosen.click(); });
chosen.addEventListener("change", () => { for (const file of chosen.files) handIn(file); chosen.value = ""; });
