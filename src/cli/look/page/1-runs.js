"use strict";
/* What is known of each run: its documents, and the points of its curves, which grow as its files do. */

const LOOK_MS = 2000, TILE_FIGURES = 12;
/* {name, dir, price_per_hour, status, config, tasks, files: {metrics, evaluations, timeline}, marks, logMarks}: by marks
 * events tell that a file has changed; of logs null: nobody tells that */
const runs = [];

function element(name, text, className) {
    const made = document.createElement(name);
    if (text !== undefined) made.textContent = text;
    if (className) made.className = className;
    return made;
}

async function ask(path) {
    const answer = await fetch(path);
    if (!answer.ok) throw new Error(`${path}: ${(await answer.text()).trim()}`);
    return answer;
}

async function askJson(path) {
    return (await ask(path)).json();
}

/* `begun` counts how often it began anew. */
function newFile() {
    return { tag: "", next: 0, begun: 0, rows: [] };
}

function dropTables(row) {
    for (const key of Object.keys(row)) if (typeof row[key] === "object") delete row[key];
}

/* Evaluations may come in another order than their steps; then curves begin anew. Tables and lists are kept of the
 * newest row only: they may be large. */
function addRow(file, name, row) {
    const { rows } = file;
    let at = rows.length;
    while (name === "evaluations" && at && rows[at - 1].step > row.step) at--;
    if (at < rows.length) file.begun++;
    rows.splice(at, 0, row);
    if (rows.length > 1) dropTables(rows[at < rows.length - 1 ? at : at - 1]);
}

/* Appends the whole lines that a file has grown by; one that was cut back begins anew. */
async function readFile(index, run, name) {
    const file = run.files[name];
    for (;;) {
        const told = await askJson(`/api/run/${index}/lines?file=${name}&tag=${file.tag}&from=${file.next}`);
        if (told.from === 0) {
            file.rows.length = 0;
            file.begun++;
        }
        file.tag = told.tag;
        file.next = told.next;
        if (!told.text) return;
        for (const line of told.text.split("\n"))
            if (line) addRow(file, name, JSON.parse(line));
    }
}

async function readRun(index) {
    const run = runs[index];
    takeStatus(run, await askJson(`/api/run/${index}/status`));
    run.tasks = await askJson(`/api/run/${index}/tasks`);
    for (const name of Object.keys(run.files)) await readFile(index, run, name);
    run.config = await askJson(`/api/run/${index}/config`); /* a start may move the job's end */
    run.logMarks = null;
}

const OF_THE_NEWEST_STEP = ["loss", "accuracy", "learning_rate"];

/* What is told may be of another version of the program: what is no list, or no number, is left out. */
function takeStatus(run, status) {
    const { live } = status;
    const drop = (keys, isRight) => {
        for (const key of keys) if (live[key] !== undefined && !isRight(live[key])) delete live[key];
    };
    if (live && typeof live === "object") {
        drop(["workers", "servers", "slots", "waits", "awaits"], Array.isArray);
        drop(["time", "step", "total_steps", "steps_per_epoch", "eta_s", "wall_s", "examples_per_s", "best_step",
              ...OF_THE_NEWEST_STEP], Number.isFinite);
    } else status.live = null;
    run.status = status;
}

/* What an event tells of a run, and what it says has changed. */
async function readChanges(index, told) {
    const run = runs[index], isNew = (name) => run.marks[name] !== told.files[name];
    if (told.status) takeStatus(run, told.status);
    if (told.status || told.trouble) run.statusTrouble = told.trouble || "";
    if (told.files && run.status) {
        for (const name of Object.keys(run.files).filter(isNew)) {
            await readFile(index, run, name);
            run.marks[name] = told.files[name];
        }
        if (isNew("config")) run.config = await askJson(`/api/run/${index}/config`);
        run.marks.config = told.files.config;
        run.tasks = Object.keys(told.logs);
        run.logMarks = told.logs;
    }
    if (run.statusTrouble || !run.status) throw new Error(run.statusTrouble || run.trouble);
}

/* One that cannot be read says why, and holds up no other; what was known of it stays. */
async function tryRun(index, read) {
    try {
        await read();
        runs[index].trouble = "";
    } catch (why) {
        runs[index].trouble = why.message;
    }
}

function stepsPerEpoch(run) {
    return run.status && run.status.live ? run.status.live.steps_per_epoch || 0 : 0;
}

/* --- tiles of runs --- */

function duration(seconds) {
    const whole = Math.round(seconds), two = (n) => String(n).padStart(2, "0");
    return `${Math.floor(whole / 3600)}:${two(Math.floor(whole / 60) % 60)}:${two(whole % 60)}`;
}

function number(value) {
    return Number(value.toPrecision(4)).toString();
}

function stateClass(state) {
    return { running: "good", finished: "good", failed: "bad" }[state] || "warn";
}

function lastRow(run, name) {
    const rows = run.files[name].rows;
    return rows[rows.length - 1];
}

function figuresOf(row, skipped) {
    const parts = [];
    for (const key of Object.keys(row))
        if (typeof row[key] === "number" && !skipped.includes(key)) parts.push(`${key} ${number(row[key])}`);
    return parts.join(", ");
}

/* A tile has room for some: those that every job has, then as the job has them; curves show all. */
function someFigures(row, skipped) {
    const keys = Object.keys(row).filter((key) => typeof row[key] === "number" && !skipped.includes(key));
    const inOrder = [...keys.filter((key) => OF_THE_NEWEST_STEP.includes(key)),
                     ...keys.filter((key) => !OF_THE_NEWEST_STEP.includes(key))];
    const shown = figuresOf(Object.fromEntries(inOrder.slice(0, TILE_FIGURES).map((key) => [key, row[key]])), []);
    return inOrder.length > TILE_FIGURES ? `${shown}, and ${inOrder.length - TILE_FIGURES} more` : shown;
}

function bestStep(run) {
    const { live } = run.status;
    return live && live.best_step >= 0 ? live.best_step : -1;
}

/* A line is written every some steps; of the newest step live.json tells, if it is newer. */
function newestTraining(run) {
    const row = lastRow(run, "metrics"), { live } = run.status;
    if (!live || !(live.step >= (row ? row.step : 0))) return row;
    const told = OF_THE_NEWEST_STEP.filter((key) => live[key] !== undefined).map((key) => [key, live[key]]);
    return told.length ? { ...row, ...Object.fromEntries(told) } : row;
}

/* Of the time that training took, and will. */
function costWords(run) {
    const { job, live } = run.status, price = run.price_per_hour / 3600;
    if (!(price > 0) || !live || live.wall_s === undefined) return "";
    const cost = (seconds) => (price * seconds).toFixed(2), spent = `cost ${cost(live.wall_s)}`;
    if (job.state === "finished") return spent;
    return job.state === "running" && live.eta_s !== undefined
        ? `${spent} so far, about ${cost(live.wall_s + live.eta_s)} in all` : `${spent} so far`;
}

function runTile(run) {
    if (!run.config) {
        const tile = element("article", undefined, "tile bad");
        tile.append(element("h3", run.name), element("p", run.trouble, "bad-word"));
        return tile;
    }
    const { job, live } = run.status, tile = element("article", undefined, `tile ${stateClass(job.state)}`);
    tile.append(element("h3", run.name), element("p", `${job.state}, start ${job.starts || 1}`, "quiet"));
    if (live && live.total_steps) {
        const bar = element("progress");
        bar.max = live.total_steps;
        bar.value = live.step;
        bar.setAttribute("aria-label", `${run.name}: steps done`);
        tile.append(bar, element("p", `step ${live.step} of ${live.total_steps}`));
        if (job.state === "running" && live.eta_s !== undefined)
            tile.append(element("p", `${number(live.examples_per_s)} examples/s, done in ${duration(live.eta_s)}`));
    }
    const trained = newestTraining(run), evaluated = lastRow(run, "evaluations");
    if (costWords(run)) tile.append(element("p", costWords(run)));
    if (trained)
        tile.append(element("p", `training  ${someFigures(trained,
            ["step", "epoch", "examples", "wall_s", "examples_per_s"])}`));
    if (evaluated)
        tile.append(element("p", `validation  ${someFigures(evaluated,
            ["step", "epochs_done", "examples", "seconds"])}`));
    if (run.trouble) tile.append(element("p", `what is shown is old: ${run.trouble}`, "bad-word"));
    if (job.live_trouble)
        tile.append(element("p", `what was told last cannot be read: ${job.live_trouble}`, "bad-word"));
    if (job.end) tile.append(element("p", job.end, "bad-word"));
    return tile;
}

function drawRuns() {
    document.getElementById("runs").replaceChildren(...runs.map(runTile));
}
