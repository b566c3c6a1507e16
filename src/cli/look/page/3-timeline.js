/* What happened to one run: a row a task, with a line while it is there and a mark for each event, and the events as a
 * table, the newest first. */

const ROUTINE = ["checkpoint", "evaluation", "hedge", "in_time"];
const KIND_CLASS = {
    suspect: "warn", hung: "warn", lost: "bad", refused: "bad", turn: "warn", rollback: "bad",
    checkpoint_failed: "bad", damaged: "bad", disk: "bad", preempt: "warn", hedge: "warn", early_stop: "warn",
};
/* What an event says of the task that it is of, from then on. */
const TASK_IS = {
    join: "good", whole: "good", backed: "good", suspect: "warn", hung: "warn", lost: "bad", turn: "bad",
    rollback: "bad",
};
const ROWS_MOST = 40, LISTED_MOST = 200, ROW = 20, NAMES = 84;

function kindClass(kind) {
    return KIND_CLASS[kind] || (ROUTINE.includes(kind) ? "plain" : "good");
}

function svg(name, attributes, title) {
    const made = document.createElementNS("http://www.w3.org/2000/svg", name);
    for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value);
    if (title) made.append(Object.assign(document.createElementNS("http://www.w3.org/2000/svg", "title"),
                                         { textContent: title }));
    return made;
}

function clock(seconds) {
    return new Date(seconds * 1000).toLocaleTimeString("en-GB");
}

function who(event) {
    return event.task ? event.task.split(" ") : ["job"];
}

function sentence(event) {
    const step = event.step === undefined ? "" : `, step ${event.step}`;
    return `${clock(event.time)} ${event.task || "job"}: ${event.text || event.kind}${step}`;
}

function byTask(a, b) {
    return (a === "job" ? 0 : 1) - (b === "job" ? 0 : 1) || a.localeCompare(b, "en", { numeric: true });
}

/* Stretches of time in which each task was there, was doubtful, or was gone; what was before a start counts no more. */
function stretches(events, end) {
    const open = new Map(), all = [];
    const close = (name, time) => {
        if (open.has(name)) all.push({ name, ...open.get(name), to: time });
        open.delete(name);
    };
    for (const event of events) {
        if (event.kind === "start" || event.kind === "end")
            for (const name of [...open.keys()]) close(name, event.time);
        const state = TASK_IS[event.kind];
        if (!event.task || !state) continue;
        close(event.task, event.time);
        open.set(event.task, { from: event.time, state });
    }
    for (const name of [...open.keys()]) close(name, end);
    return all;
}

/* One mark of a kind for each few pixels of a row: the newest. */
function marksOf(events, x) {
    const kept = new Map();
    for (const event of events)
        for (const name of who(event))
            kept.set(`${name} ${kindClass(event.kind)} ${Math.round(x(event.time) / 4)}`, { name, event });
    return [...kept.values()];
}

/* Shapes tell the classes apart too: what went wrong is a square on its corner, a warning a triangle. */
function mark(event, x, y) {
    const kind = kindClass(event.kind), shapes = {
        bad: `M${x - 5} ${y}L${x} ${y - 5}L${x + 5} ${y}L${x} ${y + 5}Z`,
        warn: `M${x - 5} ${y + 4}L${x} ${y - 5}L${x + 5} ${y + 4}Z`,
        plain: `M${x - 1} ${y - 4}h2v8h-2Z`,
        good: `M${x - 4} ${y}a4 4 0 1 0 8 0a4 4 0 1 0 -8 0Z`,
    };
    return svg("path", { d: shapes[kind], class: `mark ${kind}` }, sentence(event));
}

function rowsOf(events) {
    const names = new Set(["job"]), hurt = new Set(["job"]);
    for (const event of events)
        for (const name of who(event)) {
            names.add(name);
            if (["bad", "warn"].includes(kindClass(event.kind))) hurt.add(name);
        }
    const all = [...names].sort(byTask);
    const shown = all.length <= ROWS_MOST ? all : [...hurt].sort(byTask).slice(0, ROWS_MOST);
    shown.splice(1, 0, "era"); /* behind the job */
    return shown;
}

/* An era from its first event to that of the next. */
function erasOf(events, end) {
    const eras = [];
    for (const event of events) {
        const last = eras[eras.length - 1];
        if (!event.era || (last && last.era === event.era)) continue;
        if (last) last.to = event.time;
        eras.push({ era: event.era, from: event.time, to: end, why: sentence(event) });
    }
    return eras;
}

/* Along their row, and behind all others where one ends. */
function drawEras(picture, eras, first, x, y, height) {
    eras.forEach(({ era, from, to, why }, i) => {
        const left = x(Math.max(from, first)), width = x(to) - left;
        if (to < first || width <= 0) return;
        const made = svg("rect", { x: left, y: y - 8, width, height: 16, class: `era ${i % 2 ? "odd" : "even"}` },
            `era ${era}, ${why}`);
        picture.append(made);
        if (i && from >= first)
            picture.append(svg("line", { x1: left, x2: left, y1: y - 8, y2: height - ROW, class: "era-begins" }));
        if (width < 56) return;
        const text = svg("text", { x: left + 6, y: y + 4 });
        text.textContent = String(era);
        picture.append(text);
    });
}

function drawAxis(picture, first, end, x, height) {
    const ticks = Math.max(1, Math.floor((x(end) - NAMES) / 110));
    for (let i = 0; i <= ticks; i++) {
        const time = first + (end - first) * i / ticks, at = x(time);
        picture.append(svg("line", { x1: at, x2: at, y1: 0, y2: height - ROW, class: "grid" }));
        const text = svg("text", { x: at, y: height - 5, "text-anchor": i === ticks ? "end" : "middle" });
        text.textContent = clock(time);
        picture.append(text);
    }
}

function drawTimelinePicture(run, events, first, end) {
    const room = byId("timeline"), width = Math.max(280, room.clientWidth), names = rowsOf(events);
    const height = (names.length + 1) * ROW + 6, y = (name) => names.indexOf(name) * ROW + ROW / 2 + 2;
    const x = (time) => NAMES + (width - NAMES - 12) * (time - first) / Math.max(end - first, 1e-3);
    const picture = svg("svg", { width, height, viewBox: `0 0 ${width} ${height}`, role: "img" });
    const wrong = events.filter((event) => kindClass(event.kind) === "bad");
    picture.setAttribute("aria-label", `Timeline of ${run.name}, from ${clock(first)} to ${clock(end)}: ` +
        `${events.length} events, ${wrong.length} of them bad; the table below has them`);
    drawAxis(picture, first, end, x, height);
    drawEras(picture, erasOf(run.files.timeline.rows, end), first, x, y("era"), height);
    for (const name of names) {
        const text = svg("text", { x: 0, y: y(name) + 4 });
        text.textContent = name;
        picture.append(text);
    }
    for (const { name, from, to, state } of stretches(run.files.timeline.rows, end))
        if (names.includes(name) && to >= first)
            picture.append(svg("rect", {
                x: x(Math.max(from, first)), y: y(name) - 3, width: Math.max(1, x(to) - x(Math.max(from, first))),
                height: 6, class: `stretch ${state}`,
            }));
    for (const { name, event } of marksOf(events, x))
        if (names.includes(name)) picture.append(mark(event, x(event.time), y(name)));
    room.replaceChildren(picture);
}

function isListed(event) {
    const wanted = byId("timeline-kinds").value;
    return wanted === "all" || (wanted === "bad" ? ["bad", "warn"].includes(kindClass(event.kind))
                                                 : !ROUTINE.includes(event.kind));
}

function eventRow(event) {
    const row = element("tr"), kind = kindClass(event.kind);
    row.append(element("td", clock(event.time)), element("td", event.task || "job"),
        element("td", event.step === undefined ? "" : String(event.step)),
        element("td", event.text || event.kind, { bad: "bad-word", warn: "warn-word" }[kind]));
    row.firstChild.title = new Date(event.time * 1000).toLocaleString("en-GB");
    return row;
}

function drawTimeline() {
    const run = runs[chosen()], rows = run.files.timeline.rows, { job, live } = run.status;
    byId("no-timeline").hidden = rows.length > 0;
    byId("timeline-all").hidden = !rows.length;
    if (!rows.length) return;
    const last = rows[rows.length - 1].time, span = Number(byId("timeline-span").value);
    const end = job.state === "running" && live ? Math.max(last, live.time) : last;
    const first = span ? Math.max(rows[0].time, end - span) : rows[0].time;
    const events = rows.filter((event) => event.time >= first);
    drawTimelinePicture(run, events, first, end);
    const listed = events.filter(isListed).slice(-LISTED_MOST).reverse();
    byId("events").tBodies[0].replaceChildren(...listed.map(eventRow));
}
