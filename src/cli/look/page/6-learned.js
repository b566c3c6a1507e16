/* What one run has learned: the newest evaluation, with its confusion matrix, and histograms of weights and
 * gradients. */

function cell(text, isHead) {
    const made = element(isHead ? "th" : "td", text);
    if (isHead) made.scope = "col";
    return made;
}

/* Rows are the labels, columns what was predicted, the darker the larger the share of its label. */
function matrixTable(name, matrix) {
    const table = element("table", undefined, "matrix"), caption = element("caption", `${name}: rows are labels, ` +
        "columns what was predicted"), head = element("tr");
    head.append(element("td"), ...matrix.map((_, i) => cell(String(i), true)));
    table.append(caption, head);
    matrix.forEach((counts, i) => {
        const row = element("tr"), all = counts.reduce((a, b) => a + b, 0), title = cell(String(i), true);
        title.scope = "row";
        row.append(title, ...counts.map((n, k) => {
            const made = cell(String(n)), share = all ? n / all : 0;
            made.style.setProperty("--share", `${Math.round(100 * share)}%`);
            made.title = `label ${i}, predicted ${k}: ${n}, ${Math.round(100 * share)} %`;
            return made;
        }));
        table.append(row);
    });
    return table;
}

function isMatrix(value) {
    return Array.isArray(value) && value.length > 1 && value.length <= 64 &&
        value.every((row) => Array.isArray(row) && row.length === value.length);
}

/* The table of the metric pr_curve: counts by thresholds from 0 to 1. */
function isPrCurve(value) {
    return Array.isArray(value) && value.length === 4 && value.every((row) => Array.isArray(row) &&
        row.length === 101 && row.every((n) => typeof n === "number"));
}

/* Precision upwards, recall to the right; a mark at every tenth of the threshold. */
function prCurvePicture(name, [right, wrong, , missed]) {
    const side = 240, edge = 34, room = 20, width = side + edge + room, height = side + edge + room;
    const share = (part, rest) => part + rest > 0 ? part / (part + rest) : undefined;
    const points = right.map((n, k) => ({ k, precision: share(n, wrong[k]), recall: share(n, missed[k]) }))
        .filter((p) => p.precision !== undefined && p.recall !== undefined);
    const x = (recall) => edge + side * recall, y = (precision) => room + side * (1 - precision);
    const half = points.find((p) => p.k === 50) || points[points.length - 1];
    const picture = svg("svg", { width, height, viewBox: `0 0 ${width} ${height}`, role: "img", class: "pr-curve" });
    picture.setAttribute("aria-label", `${name}: precision over recall` + (half ? `; at a threshold of ${half.k / 100} ` +
        `precision ${number(half.precision)}, recall ${number(half.recall)}` : "; there are no positives"));
    for (const at of [0, 0.5, 1]) {
        picture.append(svg("line", { x1: x(at), x2: x(at), y1: y(0), y2: y(1), class: "grid" }),
                       svg("line", { x1: x(0), x2: x(1), y1: y(at), y2: y(at), class: "grid" }));
        const below = svg("text", { x: x(at), y: height - 18, "text-anchor": "middle" });
        const beside = svg("text", { x: edge - 6, y: y(at) + 4, "text-anchor": "end" });
        below.textContent = beside.textContent = String(at);
        picture.append(below, beside);
    }
    const words = svg("text", { x: x(0.5), y: height - 4, "text-anchor": "middle" });
    words.textContent = "recall; upwards precision";
    picture.append(words, svg("polyline", { points: points.map((p) => `${x(p.recall)},${y(p.precision)}`).join(" ") }));
    for (const p of points.filter((one) => one.k % 10 === 0))
        picture.append(svg("circle", { cx: x(p.recall), cy: y(p.precision), r: 3 },
            `threshold ${p.k / 100}: precision ${number(p.precision)}, recall ${number(p.recall)}`));
    const figure = element("figure"), title = element("figcaption", name);
    figure.append(title, picture);
    return figure;
}

function drawEvaluation() {
    const newest = lastRow(runs[chosen()], "evaluations"), room = byId("evaluation");
    byId("no-evaluation").hidden = Boolean(newest);
    if (!newest) return room.replaceChildren();
    const shown = JSON.stringify(newest);
    if (room.dataset.shown === shown) return;
    room.dataset.shown = shown;
    room.replaceChildren(element("p", `step ${newest.step}: ${figuresOf(newest,
        ["step", "epochs_done", "examples", "seconds"])}`));
    for (const [key, value] of Object.entries(newest)) {
        if (isMatrix(value)) room.append(matrixTable(key, value));
        else if (isPrCurve(value)) room.append(prCurvePicture(key, value));
        else if (Array.isArray(value)) room.append(element("p", `${key}: ${JSON.stringify(value).slice(0, 400)}`));
    }
}

/* --- the worst examples --- */

const WORST_EVERY_MS = 20000; /* somebody may ask for them at any time */
const worst = { run: -1, askedAt: 0 };

/* Kept by whoever evaluated the job: nothing of it is more than text, or a picture in it. */
function worstRow(one) {
    const row = element("tr"), picture = element("td");
    const said = (value) => (value === undefined || value === null ? "" : String(value));
    if (/^data:image\/png;base64,[A-Za-z0-9+/=]+$/.test(said(one.picture))) {
        const image = element("img");
        image.src = one.picture;
        image.alt = `example ${one.example}`;
        image.setAttribute("role", "img");
        image.setAttribute("aria-label", image.alt);
        picture.append(image);
    }
    row.append(element("td", typeof one.loss === "number" ? number(one.loss) : ""), element("td", said(one.label)),
        element("td", said(one.predicted)), picture, element("td", `${said(one.place)}, example ${said(one.example)}`));
    return row;
}

async function followWorst() {
    if (worst.run === chosen() && Date.now() - worst.askedAt < WORST_EVERY_MS) return;
    worst.run = chosen();
    worst.askedAt = Date.now();
    const told = await askJson(`/api/run/${chosen()}/worst`), list = Array.isArray(told.errors) ? told.errors : [];
    byId("worst-all").hidden = !list.length;
    byId("worst-of").textContent = list.length ? `of ${told.data}, by ${told.model}` : "";
    byId("worst").tBodies[0].replaceChildren(...list.slice(0, 200).map(worstRow));
}

/* --- histograms --- */

const HISTOGRAMS_EVERY = 5; /* looks: files of events are read as a whole */
let histograms = null, histogramLooks = 0;

/* A column a step, upwards from the least value to the largest, the darker the more values lie there; of each step by
 * its own fullest piece, for most have a narrow one. */
function drawHistograms() {
    const canvas = byId("histogram"), { tag, steps, rows, low, high } = histograms;
    const width = canvas.width = Math.max(240, canvas.parentElement.clientWidth), height = canvas.height = 256;
    const style = getComputedStyle(document.documentElement), pen = canvas.getContext("2d");
    const bins = rows[0].length, x = (i) => Math.round(i * width / rows.length);
    const y = (k) => height - Math.round(k * height / bins);
    pen.fillStyle = style.getPropertyValue("--heat").trim();
    rows.forEach((row, i) => {
        const most = Math.max(...row, 1e-12);
        row.forEach((n, k) => {
            pen.globalAlpha = Math.sqrt(n / most);
            if (n > 0) pen.fillRect(x(i), y(k + 1), x(i + 1) - x(i), y(k) - y(k + 1));
        });
    });
    const last = rows.length - 1, fullest = rows[last].indexOf(Math.max(...rows[last]));
    const at = low + (high - low) * (fullest + 0.5) / bins;
    byId("histogram-range").textContent = `from ${number(low)} at the bottom to ${number(high)} at the top, ` +
        `step ${steps[0]} at the left to ${steps[last]} at the right`;
    canvas.setAttribute("aria-label", `${tag}: values from ${number(low)} to ${number(high)}; at step ${steps[last]} ` +
        `most lie at about ${number(at)}`);
}

async function lookAtHistograms() {
    const tag = byId("histogram-tag").value;
    histograms = await askJson(`/api/run/${chosen()}/histograms?tag=${encodeURIComponent(tag)}`);
    const any = Boolean(histograms.rows && histograms.rows.length);
    fillSelect(byId("histogram-tag"), histograms.tags.map((name) => [name, name]));
    byId("no-histograms").hidden = any;
    byId("histogram-all").hidden = !any;
    if (any) drawHistograms();
}

/* Only while they are looked at. */
async function followHistograms() {
    if (byId("histograms").open && histogramLooks++ % HISTOGRAMS_EVERY === 0) await lookAtHistograms();
}
