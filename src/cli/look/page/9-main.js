/* Hears what changes, or, where it cannot, looks every two seconds; and draws what is there, one after the other. */

function fillSelect(select, options) {
    const before = select.value;
    const wanted = options.map(([value, text]) => `${value}=${text}`).join("\n");
    if (select.dataset.options === wanted) return;
    select.dataset.options = wanted;
    select.replaceChildren(...options.map(([value, text]) => new Option(text, value)));
    if (options.some(([value]) => value === before)) select.value = before;
}

function fillSelects() {
    const names = runs.map((run, i) => [String(i), run.name]);
    fillSelect(byId("run"), names);
    const others = names.filter(([i]) => Number(i) !== chosen() && runs[Number(i)].config);
    fillSelect(byId("other"), [["", "nothing"], ...others]);
    fillSelect(byId("log-task"), [["", "all"], ...(runs[chosen()].tasks || []).map((task) => [task, task])]);
}

async function drawRun() {
    if (!runs[chosen()].config) return;
    drawTimeline();
    drawTasks();
    drawCheckpoints();
    drawCommands();
    drawEvaluation();
    drawConfig();
    await followWorst();
    await followHistograms();
    await followProfiles();
    await drawLog();
}

function tell(trouble) {
    byId("trouble").hidden = !trouble;
    byId("trouble").textContent = trouble;
}

async function drawAll() {
    drawRuns();
    drawCurves();
    fillSelects();
    await drawRun();
    document.title = `tequio: ${runs.map((run) => run.name).join(", ")}`;
    document.body.dataset.looks = Number(document.body.dataset.looks || 0) + 1;
}

/* Each comes after the one before: files are read on from where that has come. */
let looking = Promise.resolve();

function next(work) {
    looking = looking.then(work).then(drawAll).then(() => tell(""))
        .catch((why) => tell(`What is shown may be old: ${why.message}`));
    return looking;
}

function lookNow() {
    return next(async () => {
        for (let i = 0; i < runs.length; i++) await tryRun(i, () => readRun(i));
    });
}

/* --- events --- */

const LISTEN_AGAIN_MS = 30000; /* after a server that has no room for one more */
const heard = new Map();       /* the newest of each kind and run that waits to be taken */
let source = null;

function sayHow(words) {
    byId("how").textContent = words;
}

function isHeard() {
    return source && source.readyState === EventSource.OPEN;
}

function hear(event) {
    const told = JSON.parse(event.data), isFirst = heard.size === 0;
    heard.set(`${event.type} ${told.run}`, told);
    if (isFirst)
        next(async () => {
            const all = [...heard.values()];
            heard.clear();
            for (const one of all) await tryRun(one.run, () => readChanges(one.run, one));
        });
}

/* One whose connection breaks is opened again by the browser. A page that nobody sees needs none. */
function listen() {
    if (source) source.close();
    source = document.hidden ? null : new EventSource("/api/events");
    if (!source) return;
    for (const kind of ["status", "files"]) source.addEventListener(kind, hear);
    source.onopen = () => sayHow("live");
    source.onerror = () => {
        sayHow("looks every two seconds");
        if (source.readyState === EventSource.CLOSED) setTimeout(listen, LISTEN_AGAIN_MS);
    };
}

async function look() {
    if (!isHeard() && !document.hidden) await lookNow();
    setTimeout(look, LOOK_MS);
}

async function begin() {
    byId("smoothing").oninput = () => { byId("smoothing-value").textContent = byId("smoothing").value; drawCurves(); };
    for (const id of ["axis", "log"]) byId(id).onchange = drawCurves;
    for (const id of ["log-task", "log-level"]) byId(id).onchange = drawLog;
    byId("log-word").oninput = drawLog;
    byId("run").onchange = () => { histogramLooks = profileLooks = 0; fillSelects(); drawRun(); };
    for (const id of ["timeline-kinds", "timeline-span"]) byId(id).onchange = drawTimeline;
    byId("parts-all").ontoggle = drawTasks;
    beginProfile();
    byId("histogram-tag").onchange = lookAtHistograms;
    byId("histograms").ontoggle = () => { histogramLooks = 0; followHistograms(); };
    matchMedia("(prefers-color-scheme: dark)").onchange = () => { forgetCharts(); if (histograms && histograms.rows) drawHistograms(); if (profile) drawProfile(); };
    byId("other").onchange = () => { byId("config-all").open = true; drawConfig(); };
    for (const form of document.forms) form.onsubmit = () => false;
    for (const run of await askJson("/api/runs"))
        runs.push({ ...run, marks: {}, logMarks: null,
                    files: { metrics: newFile(), evaluations: newFile(), timeline: newFile() } });
    await lookNow();
    document.onvisibilitychange = listen;
    listen();
    await look();
}

begin().catch((why) => tell(why.message));
