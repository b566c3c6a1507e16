/* What one run has learned: the newest evaluation, with its confusion matrix. */

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
        else if (Array.isArray(value)) room.append(element("p", `${key}: ${JSON.stringify(value).slice(0, 400)}`));
    }
}
