/* A profile (docs/PROFILE.md) of the run that is chosen: a row a thread of a task, slots above what lies in them. */

const PROFILE_ROW = 14, PROFILE_DEPTHS = 3, PROFILE_GAP = 4, PROFILE_NAMES = 150, PROFILE_TOP = 20, PROFILE_EVERY = 5;
const PROFILE_COLOURS = { WAIT_PART: "--waiting", WAIT_SCALE: "--waiting", PULL_WAITED: "--waiting", LOAD: "--loading",
                          BATCH_MADE: "--loading", IDLE: "--idle", SLOT: "--older", DEVICE_SLOT: "--older" };
/* {about, rows: [{title, depth, events: [{name, begin, end, depth, kind, args}]}], begin, end}; what is seen of it, from
 * one moment to another; and which event is named */
let profile = null, profileLooks = 0, profileFrom = 0, profileUntil = 1, profileAt = null;
let profileAsked = ""; /* the one that is here or on its way */

/* How deep each lies in others of its thread. */
function nestEvents(events) {
    const open = [];
    events.sort((a, b) => a.begin - b.begin || b.end - a.end);
    for (const event of events) {
        while (open.length && open[open.length - 1] <= event.begin + 1e-3) open.pop(); /* microseconds, in doubles */
        event.depth = Math.min(open.length, PROFILE_DEPTHS - 1);
        open.push(event.end);
    }
    return Math.max(...events.map((event) => event.depth)) + 1;
}

function readProfile(told) {
    const tasks = new Map(), threads = new Map(), rows = new Map();
    for (const e of told.traceEvents)
        if (e.name === "process_name") tasks.set(e.pid, e.args.name);
        else if (e.name === "thread_name") threads.set(`${e.pid} ${e.tid}`, e.args.name);
    for (const e of told.traceEvents) {
        const at = `${e.pid} ${e.tid}`;
        if (e.ph !== "X") continue;
        if (!rows.has(at)) rows.set(at, { title: `${tasks.get(e.pid)} ${threads.get(at)}`, pid: e.pid, tid: e.tid, events: [] });
        rows.get(at).events.push({ name: e.name, begin: e.ts, end: e.ts + e.dur, kind: e.args.kind, args: e.args });
    }
    const sorted = [...rows.values()].sort((a, b) => a.pid - b.pid || a.tid - b.tid);
    let begin = Infinity, end = -Infinity;
    for (const row of sorted) {
        row.depth = nestEvents(row.events);
        for (const event of row.events) { begin = Math.min(begin, event.begin); end = Math.max(end, event.end); }
    }
    return { about: told.otherData, rows: sorted, begin, end: Math.max(end, begin + 1) };
}

function profileSeconds(us) {
    return us < 1000 ? `${number(us)} \u00b5s` : us < 1e6 ? `${number(us / 1000)} ms` : `${number(us / 1e6)} s`;
}

/* What can be seen; of those that would be narrower than a pixel one a pixel. */
function drawProfileRow(pen, row, top, x, width, colour) {
    const last = new Array(PROFILE_DEPTHS).fill(-1);
    for (const event of row.events) {
        if (event.end < profileFrom) continue;
        if (event.begin > profileUntil) break;
        const left = Math.max(PROFILE_NAMES, x(event.begin)), right = Math.min(width, Math.max(x(event.end), left + 1));
        if (right <= last[event.depth]) continue;
        last[event.depth] = Math.ceil(right);
        pen.fillStyle = colour(event);
        pen.fillRect(left, top + event.depth * PROFILE_ROW, Math.max(1, right - left - 0.5), PROFILE_ROW - 1);
        if (right - left < 30) continue;
        pen.fillStyle = colour(null);
        pen.fillText(event.name, left + 2, top + event.depth * PROFILE_ROW + 10, right - left - 4);
    }
}

function drawProfile() {
    const canvas = byId("profile-picture"), style = getComputedStyle(document.documentElement);
    const width = canvas.width = Math.max(320, canvas.parentElement.clientWidth), pen = canvas.getContext("2d");
    const height = (row) => row.depth * PROFILE_ROW + PROFILE_GAP;
    canvas.height = profile.rows.reduce((sum, row) => sum + height(row), 0);
    const of = (name) => style.getPropertyValue(name).trim(), front = of("--front"), computing = of("--share-colour");
    const colours = Object.fromEntries(Object.entries(PROFILE_COLOURS).map(([kind, name]) => [kind, of(name)]));
    const colour = (event) => event === null ? front : event === profileAt ? front : colours[event.kind] || computing;
    const x = (us) => PROFILE_NAMES + (us - profileFrom) * (width - PROFILE_NAMES) / (profileUntil - profileFrom);
    pen.font = "10px system-ui, sans-serif";
    let top = 0;
    for (const row of profile.rows) {
        row.top = top;
        pen.fillStyle = front;
        pen.fillText(row.title, 2, top + 10, PROFILE_NAMES - 6);
        drawProfileRow(pen, row, top, x, width, colour);
        top += height(row);
    }
    canvas.setAttribute("aria-label", `What ${profile.rows.length} threads did in the steps ${profile.about.begin} to ` +
        `${profile.about.end - 1}; ${profileSeconds(profileUntil - profileFrom)} are shown. The tables below say what took longest`);
}

/* --- tables --- */

function sumProfile(wanted, keyOf) {
    const sums = new Map();
    for (const row of profile.rows)
        for (const event of row.events) {
            if (!wanted(event)) continue;
            const key = keyOf(event, row), sum = sums.get(key) || { time: 0, times: 0 };
            sum.time += event.end - event.begin;
            sum.times++;
            sums.set(key, sum);
        }
    return [...sums].sort((a, b) => b[1].time - a[1].time);
}

function fillProfileTable(id, rows) {
    const all = rows.reduce((sum, [, { time }]) => sum + time, 0) || 1;
    byId(id).tBodies[0].replaceChildren(...rows.slice(0, PROFILE_TOP).map(([name, { time, times }]) => {
        const row = element("tr"), head = element("th", name);
        head.scope = "row";
        row.append(head, element("td", profileSeconds(time)), element("td", `${number(100 * time / all)} %`),
                   element("td", String(times)));
        return row;
    }));
}

function drawProfileTables() {
    const waits = new Set(["WAIT_PART", "WAIT_SCALE", "LOAD", "IDLE"]);
    const nodes = sumProfile((event) => event.kind === "NODE" || event.kind === "DEVICE_NODE", (event) => event.name);
    const steps = nodes.length ? nodes : sumProfile((event) => event.kind === "SEGMENT", (event) => event.name);
    fillProfileTable("profile-nodes", steps);
    fillProfileTable("profile-waits", sumProfile((event) => waits.has(event.kind), (event, row) => `${row.title}: ${event.name}`));
    const lost = profile.about.missing.map(({ task, why }) => `${task} is missing: ${why}`);
    const errors = profile.about.tasks.map((task) => task.clock_error_us);
    byId("profile-about").textContent = [`Clocks agree to ${profileSeconds(Math.max(...errors))}`, ...lost].join(". ") + ".";
}

/* --- looking around --- */

function zoomProfile(factor, where) {
    const whole = profile.end - profile.begin, span = Math.min(whole, Math.max(1, (profileUntil - profileFrom) * factor));
    const share = Math.min(1, Math.max(0, where)), at = profileFrom + share * (profileUntil - profileFrom);
    profileFrom = Math.min(Math.max(profile.begin, at - share * span), profile.end - span);
    profileUntil = profileFrom + span;
    drawProfile();
}

function moveProfile(share) {
    const span = profileUntil - profileFrom;
    profileFrom = Math.min(Math.max(profile.begin, profileFrom + share * span), profile.end - span);
    profileUntil = profileFrom + span;
    drawProfile();
}

function nameProfile(event, row) {
    const { kind, ...args } = event ? event.args : {};
    profileAt = event;
    byId("profile-what").textContent = event
        ? `${row.title}: ${event.name}, ${profileSeconds(event.end - event.begin)}, ` +
          Object.entries(args).map(([key, value]) => `${key} ${value}`).join(", ")
        : "Point at something, or press n and p, to see what it is; + and - zoom, arrows move, 0 shows all.";
    drawProfile();
}

function profileShare(mouse) {
    const box = byId("profile-picture").getBoundingClientRect(), names = PROFILE_NAMES * box.width / byId("profile-picture").width;
    return (mouse.clientX - box.left - names) / (box.width - names);
}

function pointAtProfile(mouse) {
    const box = byId("profile-picture").getBoundingClientRect(), y = (mouse.clientY - box.top) * byId("profile-picture").height / box.height;
    const near = (profileUntil - profileFrom) / 400, us = profileFrom + profileShare(mouse) * (profileUntil - profileFrom);
    const row = profile.rows.findLast(({ top }) => top <= y);
    const depth = Math.floor((y - row.top) / PROFILE_ROW);
    const event = row.events.find((one) => one.depth === depth && one.begin - near <= us && us <= one.end + near);
    if ((event || null) !== profileAt) nameProfile(event || null, row);
}

/* The next event of a lane, or the one before: for who has no mouse. */
function stepProfile(by) {
    const all = profile.rows.flatMap((row) => row.events.filter((event) => event.end > event.begin).map((event) => [event, row]));
    const at = all.findIndex(([event]) => event === profileAt), next = all[(Math.max(at, by < 0 ? 0 : -1) + by + all.length) % all.length];
    if (next) nameProfile(...next);
}

const PROFILE_KEYS = { "+": () => zoomProfile(0.5, 0.5), "=": () => zoomProfile(0.5, 0.5), "-": () => zoomProfile(2, 0.5),
                       "0": () => zoomProfile(Infinity, 0), ArrowLeft: () => moveProfile(-0.25), ArrowRight: () => moveProfile(0.25),
                       n: () => stepProfile(1), p: () => stepProfile(-1) };

function beginProfile() {
    const canvas = byId("profile-picture");
    canvas.onmousemove = (mouse) => { if (profile) pointAtProfile(mouse); };
    canvas.addEventListener("wheel", (wheel) => {
        if (!profile || !(wheel.ctrlKey || document.activeElement === canvas)) return; /* the page scrolls else */
        wheel.preventDefault();
        zoomProfile(wheel.deltaY < 0 ? 0.8 : 1.25, profileShare(wheel));
    }, { passive: false });
    canvas.onkeydown = (key) => {
        if (!profile || !PROFILE_KEYS[key.key] || key.ctrlKey || key.altKey || key.metaKey) return;
        key.preventDefault();
        PROFILE_KEYS[key.key]();
    };
    byId("profile-name").onchange = lookAtProfile;
    byId("profiles").ontoggle = () => { profileLooks = 0; followProfiles(); };
}

/* --- which --- */

async function lookAtProfile() {
    const run = chosen(), name = byId("profile-name").value, asked = `${run} ${name}`;
    if (profileAsked === asked) return;
    profileAsked = asked;
    try {
        profile = readProfile(await askJson(`/api/run/${run}/profile?name=${encodeURIComponent(name)}`));
    } catch (why) {
        profileAsked = "";
        throw why;
    }
    profileFrom = profile.begin;
    profileUntil = profile.end;
    if (!profile.rows.length) return;
    drawProfileTables();
    nameProfile(null);
}

/* Only while they are looked at; one that is there is not read again. */
async function followProfiles() {
    if (!byId("profiles").open || profileLooks++ % PROFILE_EVERY) return;
    const names = await askJson(`/api/run/${chosen()}/profiles`);
    fillSelect(byId("profile-name"), names.map((name) => [name, name]));
    byId("no-profile").hidden = names.length > 0;
    byId("profile-all").hidden = !names.length;
    if (names.length) await lookAtProfile();
}
