/* Curves: one card a metric, all runs over each other; what evaluations say is dashed. */

const COLOURS = ["#2f6fde", "#c2571a", "#17803d", "#a3338f", "#8a6d00", "#0f7f86"];
const NO_CURVE = ["step", "epoch", "epochs_done", "examples", "wall_s", "seconds", "lost_slots"];
const POINTS = 4000;    /* of a curve that are drawn at most */
const charts = new Map();
const hasCharts = typeof Chart !== "undefined";

function byId(id) {
    return document.getElementById(id);
}

function metricsOf(run, file) {
    const names = new Set();
    const rows = run.files[file].rows;
    for (const row of [rows[0], rows[rows.length - 1]])
        for (const key of Object.keys(row || {}))
            if (typeof row[key] === "number" && !NO_CURVE.includes(key)) names.add(key);
    return names;
}

/* The time of an evaluation is that of training as it was at that step. */
function timesOfSteps(run) {
    return new Map(run.files.metrics.rows.map((row) => [row.step, row.wall_s]));
}

function place(run, row, axis, times) {
    if (axis === "step") return row.step;
    if (axis === "epochs") return stepsPerEpoch(run) ? row.step / stepsPerEpoch(run) : undefined;
    return row.wall_s !== undefined ? row.wall_s : times.get(row.step);
}

/* An exponential moving average that forgets its beginning: divided by the sum of its weights. */
function smooth(points, weight) {
    let mean = 0, sum = 0;
    return points.map(({ x, y }) => {
        mean = mean * weight + y * (1 - weight);
        sum = sum * weight + (1 - weight);
        return { x, y: mean / sum };
    });
}

/* The lowest and highest point of each of as many pieces as can be seen. */
function thin(points) {
    if (points.length <= POINTS) return points;
    const pieces = POINTS / 2, kept = [];
    for (let i = 0; i < pieces; i++) {
        const from = Math.floor(i * points.length / pieces), to = Math.floor((i + 1) * points.length / pieces);
        let low = from, high = from;
        for (let k = from; k < to; k++) {
            if (points[k].y < points[low].y) low = k;
            if (points[k].y > points[high].y) high = k;
        }
        kept.push(points[Math.min(low, high)]);
        if (low !== high) kept.push(points[Math.max(low, high)]);
    }
    return kept;
}

function pointsOf(run, file, metric) {
    const axis = byId("axis").value, times = file === "evaluations" ? timesOfSteps(run) : null, points = [];
    for (const row of run.files[file].rows) {
        const x = place(run, row, axis, times);
        if (typeof row[metric] === "number" && x !== undefined) points.push({ x, y: row[metric] });
    }
    return points;
}

function dataset(run, index, file, metric) {
    const weight = file === "metrics" ? Number(byId("smoothing").value) : 0, colour = COLOURS[index % COLOURS.length];
    let points = pointsOf(run, file, metric);
    if (weight > 0) points = smooth(points, weight);
    return {
        label: file === "metrics" ? run.name : `${run.name}, validation`,
        data: thin(points), borderColor: colour, backgroundColor: colour, borderWidth: 1.5,
        borderDash: file === "metrics" ? [] : [5, 4], pointRadius: file === "metrics" ? 0 : 2,
    };
}

function datasetsOf(metric) {
    const all = [];
    runs.forEach((run, i) => {
        for (const file of ["metrics", "evaluations"])
            if (metricsOf(run, file).has(metric)) all.push(dataset(run, i, file, metric));
    });
    return all;
}

function describe(metric, sets) {
    const last = (set) => set.data[set.data.length - 1];
    return `${metric}: ` + sets.filter((s) => s.data.length)
        .map((s) => `${s.label} ${number(last(s).y)} at ${number(last(s).x)}`).join("; ");
}

function newChart(metric) {
    const card = element("figure", undefined, "curve"), room = element("div"), canvas = element("canvas");
    canvas.setAttribute("role", "img");
    room.append(canvas);
    card.append(element("h3", metric), room);
    byId("curves").append(card);
    const front = getComputedStyle(document.documentElement).getPropertyValue("--quiet").trim();
    const grid = getComputedStyle(document.documentElement).getPropertyValue("--line").trim();
    const scale = () => ({ type: "linear", ticks: { color: front }, grid: { color: grid } });
    return new Chart(canvas, {
        type: "line", data: { datasets: [] },
        options: {
            animation: false, parsing: false, normalized: true, responsive: true, maintainAspectRatio: false,
            spanGaps: true, interaction: { mode: "nearest", axis: "x", intersect: false },
            scales: { x: scale(), y: scale() },
            plugins: { legend: { labels: { color: front, usePointStyle: true, pointStyle: "line" } } },
        },
    });
}

function drawCurve(metric) {
    if (!charts.has(metric)) charts.set(metric, newChart(metric));
    const chart = charts.get(metric), sets = datasetsOf(metric);
    chart.data.datasets = sets;
    chart.options.scales.y.type = byId("log").checked ? "logarithmic" : "linear";
    chart.canvas.setAttribute("aria-label", describe(metric, sets));
    chart.update("none");
}

function drawCurves() {
    const names = new Set();
    for (const run of runs)
        for (const file of ["metrics", "evaluations"])
            for (const name of metricsOf(run, file)) names.add(name);
    byId("no-curves").hidden = hasCharts;
    if (hasCharts) for (const name of names) drawCurve(name);
}
