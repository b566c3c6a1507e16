/* Looks every two seconds, one look after the other, and draws what is there. */

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
    await followHistograms();
    await drawLog();
}

function tell(trouble) {
    byId("trouble").hidden = !trouble;
    byId("trouble").textContent = trouble;
}

async function lookOnce() {
    try {
        for (let i = 0; i < runs.length; i++) await lookAtRun(i);
        drawRuns();
        drawCurves();
        fillSelects();
        await drawRun();
        document.title = `tequio: ${runs.map((run) => run.name).join(", ")}`;
        document.body.dataset.looks = Number(document.body.dataset.looks || 0) + 1;
        tell("");
    } catch (why) {
        tell(`What is shown may be old: ${why.message}`);
    }
}

let looking = Promise.resolve();

/* Looks follow each other: files are read on from where the look before has come. */
function lookNow() {
    looking = looking.then(lookOnce);
    return looking;
}

async function look() {
    await lookNow();
    setTimeout(look, LOOK_MS);
}

async function begin() {
    byId("smoothing").oninput = () => { byId("smoothing-value").textContent = byId("smoothing").value; drawCurves(); };
    for (const id of ["axis", "log"]) byId(id).onchange = drawCurves;
    for (const id of ["log-task", "log-level"]) byId(id).onchange = drawLog;
    byId("log-word").oninput = drawLog;
    byId("run").onchange = () => { histogramLooks = 0; fillSelects(); drawRun(); };
    for (const id of ["timeline-kinds", "timeline-span"]) byId(id).onchange = drawTimeline;
    byId("histogram-tag").onchange = lookAtHistograms;
    byId("histograms").ontoggle = () => { histogramLooks = 0; followHistograms(); };
    matchMedia("(prefers-color-scheme: dark)").onchange = () => { forgetCharts(); if (histograms && histograms.rows) drawHistograms(); };
    byId("other").onchange = () => { byId("config-all").open = true; drawConfig(); };
    for (const form of document.forms) form.onsubmit = () => false;
    for (const run of await askJson("/api/runs"))
        runs.push({ ...run, files: { metrics: newFile(), evaluations: newFile(), timeline: newFile() } });
    await look();
}

begin().catch((why) => tell(why.message));
