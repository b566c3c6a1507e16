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

/* The time of an evaluation is that of training as it was at that step: of the newest row up to it. */
function timeOfStep(run, step) {
    const rows = run.files.metrics.rows;
    let low = 0, high = rows.length;
    while (low < high) {
        const middle = (low + high) >> 1;
        if (rows[middle].step <= step) low = middle + 1;
        else high = middle;
    }
    return low ? rows[low - 1].wall_s : undefined;
}

function place(run, row, axis) {
    if (axis === "step") return row.step;
    if (axis === "epochs") return stepsPerEpoch(run) ? row.step / stepsPerEpoch(run) : undefined;
    return row.wall_s !== undefined ? row.wall_s : timeOfStep(run, row.step);
}

/* A curve as it grows: the lowest and highest point of each piece of it, of as many pieces as can be seen. As there are
 * more of them, two become one. So a look costs what is new, however long the curve is. */
class Curve {
    constructor(key, weight) {
        Object.assign(this, { key, weight, taken: 0, size: 1, mean: 0, sum: 0, pieces: [] });
    }

    /* An exponential moving average that forgets its beginning: divided by the sum of its weights. */
    smoothed(y) {
        this.mean = this.mean * this.weight + y * (1 - this.weight);
        this.sum = this.sum * this.weight + (1 - this.weight);
        return this.mean / this.sum;
    }

    add(x, value) {
        const point = { x, y: this.smoothed(value) }, last = this.pieces[this.pieces.length - 1];
        if (!last || last.n === this.size) this.pieces.push({ low: point, high: point, last: point, n: 1 });
        else {
            last.n++;
            last.last = point;
            if (point.y < last.low.y) last.low = point;
            if (point.y > last.high.y) last.high = point;
        }
        if (this.pieces.length > POINTS / 2) this.halve();
    }

    halve() {
        const merged = [];
        for (let i = 0; i < this.pieces.length; i += 2) {
            const a = this.pieces[i], b = this.pieces[i + 1] || a;
            merged.push({ low: a.low.y <= b.low.y ? a.low : b.low, high: a.high.y >= b.high.y ? a.high : b.high,
                          last: b.last, n: b === a ? a.n : a.n + b.n });
        }
        this.pieces = merged;
        this.size *= 2;
    }

    points() {
        const all = [];
        for (const { low, high } of this.pieces) {
            const [first, second] = low.x <= high.x ? [low, high] : [high, low];
            all.push(first);
            if (first !== second) all.push(second);
        }
        const newest = this.pieces.length && this.pieces[this.pieces.length - 1].last;
        if (newest && all[all.length - 1] !== newest) all.push(newest);
        return all;
    }
}

const curves = new Map();   /* by run, file and metric */

function curveOf(run, index, file, metric) {
    const axis = byId("axis").value, weight = file === "metrics" ? Number(byId("smoothing").value) : 0;
    const name = `${index} ${file} ${metric}`, { begun, rows } = run.files[file];
    const key = `${axis} ${weight} ${begun} ${axis === "epochs" ? stepsPerEpoch(run) : ""}`;
    if (!curves.has(name) || curves.get(name).key !== key) curves.set(name, new Curve(key, weight));
    const curve = curves.get(name);
    for (; curve.taken < rows.length; curve.taken++) {
        const row = rows[curve.taken], x = place(run, row, axis);
        if (typeof row[metric] === "number" && x !== undefined) curve.add(x, row[metric]);
    }
    return curve;
}

/* The best evaluation is a star. */
function dataset(run, index, file, metric) {
    const colour = COLOURS[index % COLOURS.length], isTraining = file === "metrics";
    const data = curveOf(run, index, file, metric).points();
    const best = isTraining ? undefined : place(run, { step: bestStep(run) }, byId("axis").value);
    const isBest = (point) => point.x === best;
    return {
        label: isTraining ? run.name : `${run.name}, validation`,
        data, borderColor: colour, backgroundColor: colour, borderWidth: 1.5, borderDash: isTraining ? [] : [5, 4],
        pointRadius: isTraining ? 0 : data.map((point) => isBest(point) ? 8 : 2),
        pointStyle: isTraining ? "circle" : data.map((point) => isBest(point) ? "star" : "circle"),
        bestPoint: data.find(isBest),
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
        .map((s) => `${s.label} ${number(last(s).y)} at ${number(last(s).x)}` +
            (s.bestPoint ? `, best ${number(s.bestPoint.y)} at ${number(s.bestPoint.x)}` : "")).join("; ");
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
    const began = performance.now();
    if (!charts.has(metric)) charts.set(metric, newChart(metric));
    const chart = charts.get(metric), sets = datasetsOf(metric);
    chart.data.datasets = sets;
    chart.options.scales.y.type = byId("log").checked ? "logarithmic" : "linear";
    chart.canvas.setAttribute("aria-label", describe(metric, sets));
    chart.update("none");
    updateTimes.push(performance.now() - began);
    if (updateTimes.length > 256) updateTimes.shift();
}

/* One chart a frame, so that the page stays quick at hand, however many there are. */
const due = new Set(), updateTimes = [];    /* milliseconds of script of the last ones, for whoever measures */

function drawNext() {
    const [metric] = due;
    if (metric === undefined) return;
    due.delete(metric);
    drawCurve(metric);
    if (due.size) requestAnimationFrame(drawNext);
}

function drawCurves() {
    const before = due.size;
    for (const run of runs)
        for (const file of ["metrics", "evaluations"])
            for (const name of metricsOf(run, file)) due.add(name);
    byId("no-curves").hidden = hasCharts;
    if (!hasCharts) due.clear();
    if (due.size && !before) requestAnimationFrame(drawNext);
}

/* Their colours are those of the page as they are made. */
function forgetCharts() {
    for (const chart of charts.values()) chart.destroy();
    charts.clear();
    byId("curves").replaceChildren();
    drawCurves();
}
