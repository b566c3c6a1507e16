/* What a task's tile shows beside its state: how its lanes spend their time, what is on its way to servers, which parts
 * it holds, and for what it waits; and the table of all parts. */

const CREDITS_MOST = 8, CELLS_MOST = 256, TABLE_MOST = 1024;

/* Two digits are enough for what changes all the time. */
function size(n) {
    return n < 1000 ? `${n} B` : bytes(Number(n.toPrecision(2)));
}

/* --- lanes' time --- */

const TIMES = [
    ["computing", "computes", "tequio_worker_computing_seconds_total"],
    ["waiting", "waits for weights", "tequio_worker_waiting_seconds_total"],
    ["loading", "waits for examples", "tequio_worker_loading_seconds_total"],
    ["idle", "has no slot", "tequio_worker_idle_seconds_total"],
];
const SPAN_S = 20; /* of which shares are shown */
const timesOf = new Map(); /* by run and task: what was told within the last seconds */

/* Seconds of each kind over the last of them; what was told before a run began anew is forgotten. */
function timesSpent(key, figures, now) {
    const all = timesOf.get(key) || [], newest = all[all.length - 1];
    const sample = { now, seconds: TIMES.map(([, , name]) => figures[name] || 0) };
    const isBack = newest && sample.seconds.some((s, i) => s < newest.seconds[i]);
    if (isBack) all.length = 0;
    if (!newest || isBack || now > newest.now) all.push(sample);
    while (all.length > 2 && all[1].now < now - SPAN_S) all.shift();
    timesOf.set(key, all);
    const first = all.length > 1 ? all[0].seconds : TIMES.map(() => 0);
    return sample.seconds.map((s, i) => s - first[i]);
}

function timeBar(key, figures, now) {
    const spent = timesSpent(key, figures, now), sum = spent.reduce((a, b) => a + b, 0);
    if (!(sum > 0)) return [];
    const shares = spent.map((s) => s / sum), bar = element("div", undefined, "bar");
    const words = TIMES.map(([, name], i) => [name, Math.round(100 * shares[i])]).filter(([, n]) => n >= 1);
    bar.setAttribute("role", "img");
    bar.setAttribute("aria-label", `time of its lanes: ${words.map(([name, n]) => `${name} ${n} %`).join(", ")}`);
    TIMES.forEach(([kind], i) => {
        const piece = element("span", undefined, `time-${kind}`);
        piece.style.flexGrow = shares[i];
        bar.append(piece);
    });
    const legend = element("p", undefined, "legend small quiet");
    TIMES.forEach(([kind, name], i) => {
        if (shares[i] < 0.005) return;
        const one = element("span", `${name} ${Math.round(100 * shares[i])} %`);
        one.prepend(element("i", undefined, `time-${kind}`));
        legend.append(one);
    });
    return [bar, legend];
}

/* --- what is on its way to servers --- */

function creditLine(link) {
    const row = element("li"), bar = element("span", undefined, "meter"), full = element("span"), words = [];
    const share = link.credit ? Math.min(1, link.in_flight / link.credit) : link.in_flight ? 1 : 0;
    full.style.width = `${Math.round(100 * share)}%`;
    bar.append(full);
    if (link.in_flight) words.push(size(link.in_flight));
    if (link.pulls) words.push(link.pulls === 1 ? "1 pull" : `${link.pulls} pulls`);
    if (!link.up) words.push("not connected");
    row.append(element("span", link.server, "who"), bar,
        element("span", words.join(", ") || "nothing", link.up ? "quiet" : "bad-word"));
    return row;
}

/* The fullest, in the order of their names. */
function creditLines(credits) {
    const fullest = [...credits].sort((a, b) => a.up - b.up || b.in_flight - a.in_flight || b.pulls - a.pulls)
        .slice(0, CREDITS_MOST);
    const most = Math.max(...credits.map((link) => link.credit)), list = element("ul", undefined, "credits");
    const title = `on its way${most ? `, at most ${size(most)} of gradients to each` : ""}`;
    list.setAttribute("aria-label", title);
    list.append(...credits.filter((link) => fullest.includes(link)).map(creditLine));
    if (credits.length > CREDITS_MOST)
        list.append(element("li", `and ${credits.length - CREDITS_MOST} more servers`, "quiet"));
    return [element("p", title, "small quiet"), list];
}

/* --- parts --- */

/* [part, version, bytes, pulls that wait, whether the server acts for it]; of many each cell is of several. */
function partCells(parts) {
    const each = Math.ceil(parts.length / CELLS_MOST), cells = [];
    for (let i = 0; i < parts.length; i += each) {
        const of = parts.slice(i, i + each);
        cells.push({
            first: of[0][0], last: of[of.length - 1][0], version: Math.min(...of.map((p) => p[1])),
            size: of.reduce((sum, p) => sum + p[2], 0), pulls: of.reduce((sum, p) => sum + p[3], 0), n: of.length,
        });
    }
    return cells;
}

function partCell(cell, newest, kind) {
    const made = element("span", undefined, `part ${kind}`), name = cell.n === 1 ? `part ${cell.first}`
        : `parts ${cell.first} to ${cell.last}`;
    if (cell.version < newest) made.classList.add("older");
    if (cell.pulls) made.classList.add("asked");
    made.title = `${name}: version ${cell.version}, ${size(cell.size)}` +
        (cell.pulls ? `, ${cell.pulls} wait for the next` : "");
    return made;
}

function versionWords(parts) {
    const versions = parts.map((p) => p[1]), low = Math.min(...versions), high = Math.max(...versions);
    return low === high ? `version ${low}` : `versions ${low} to ${high}`;
}

/* A line of words and one of cells. */
function partRow(parts, newest, [one, several], kind) {
    if (!parts.length) return [];
    const asked = parts.filter((p) => p[3]).length, cells = element("div", undefined, "parts");
    const words = `${parts.length} ${parts.length === 1 ? one : several}, ${versionWords(parts)}, ` +
        size(parts.reduce((all, p) => all + p[2], 0)) + (asked ? `, ${asked} asked for` : "");
    cells.append(...partCells(parts).map((cell) => partCell(cell, newest, kind)));
    cells.setAttribute("role", "img");
    cells.setAttribute("aria-label", words);
    return [element("p", words, "small quiet"), cells];
}

/* Those that it acts for, and copies of others' parts; as it told them, at one moment. */
function partRowsOf(task) {
    const newest = Math.max(...task.parts.map((p) => p[1]));
    const rows = [...partRow(task.parts.filter((p) => p[4]), newest, ["part", "parts"], "acts"),
        ...partRow(task.parts.filter((p) => !p[4]), newest, ["copy", "copies"], "copy")];
    if (task.parts_left_out) rows.push(element("p", `and ${task.parts_left_out} parts more`, "small quiet"));
    return rows;
}

/* Each part once: who acts for it, and who has a copy. */
function partRows(servers) {
    const rows = new Map();
    for (const server of servers)
        for (const [part, version, size, pulls, acts] of server.parts || []) {
            const row = rows.get(part) || { part, size, pulls: 0, acting: "", copy: "" };
            const words = `${server.task} at version ${version}`;
            if (acts) Object.assign(row, { acting: words, pulls });
            else row.copy = words;
            rows.set(part, row);
        }
    return [...rows.values()].sort((a, b) => a.part - b.part);
}

/* Only while it is open; who is in it when servers tell nothing for a moment stays there. */
function drawParts(live) {
    const all = byId("parts-all"), servers = (live && live.servers) || [];
    const is = servers.some((server) => server.parts && server.parts.length);
    all.hidden = !is && !all.contains(document.activeElement);
    if (all.hidden || !all.open) return;
    const rows = partRows(servers).slice(0, TABLE_MOST);
    byId("parts").tBodies[0].replaceChildren(...rows.map((row) => {
        const made = element("tr");
        made.append(element("td", String(row.part)), element("td", size(row.size)), element("td", row.acting),
            element("td", row.copy), element("td", row.pulls ? String(row.pulls) : ""));
        return made;
    }));
}

/* --- waits --- */

function awaitWords(one) {
    const since = one.since_s < 100 ? `${one.since_s.toFixed(1)} s` : duration(one.since_s);
    return `waits for ${one.words} since ${since}`;
}

/* Whom others wait for, by name. */
function awaitedBy(live) {
    const all = new Map();
    for (const one of live.awaits || [])
        if (one.whom && one.whom !== one.task && !one.usual) all.set(one.whom, [...(all.get(one.whom) || []), one.task]);
    return all;
}
