/* One run's cluster: hosts, the tasks on each as tiles, who computes which slots and holds which shards, and who waits
 * for what. */

function chosen() {
    return Number(byId("run").value || 0);
}

function taskClass(task) {
    if (["gone", "hangs", "refused"].includes(task.state)) return "bad";
    return task.state === "at work" ? "good" : "warn";
}

/* "0-3, 7" */
function ranges(numbers) {
    const parts = [];
    for (let i = 0; i < numbers.length; i++) {
        const first = numbers[i];
        while (numbers[i + 1] === numbers[i] + 1) i++;
        parts.push(first === numbers[i] ? `${first}` : `${first}-${numbers[i]}`);
    }
    return parts.join(", ");
}

function bytes(n) {
    const units = ["B", "kB", "MB", "GB", "TB"];
    let at = 0;
    for (; n >= 1000 && at < units.length - 1; at++) n /= 1000;
    return `${number(n)} ${units[at]}`;
}

/* What each task's lanes compute, by its name: its own slots, those that others compute too, and those of others. */
function workOf(live) {
    const all = new Map();
    const of = (name) => {
        if (!all.has(name)) all.set(name, { own: [], late: [], others: [] });
        return all.get(name);
    };
    (live.slots || []).forEach((slot, i) => {
        of(slot.task).own.push({ slot: i, lane: slot.lane });
        if (!slot.hedged_by) return;
        of(slot.task).late.push(i);
        of(slot.hedged_by.task).others.push({ slot: i, lane: slot.hedged_by.lane, whose: slot.task });
    });
    return all;
}

/* A chip a lane: its slots, and those that it computes for somebody who is late. */
function laneChip(lane, work) {
    const own = work.own.filter((o) => o.lane === lane).map((o) => o.slot);
    const others = work.others.filter((o) => o.lane === lane);
    const chip = element("li", `lane ${lane}: ${own.length ? ranges(own) : "no slots"}`);
    chip.className = own.length ? "chip" : "chip idle";
    if (others.length) {
        const whose = [...new Set(others.map((o) => o.whose))].join(", ");
        chip.textContent += `, and ${ranges(others.map((o) => o.slot))} of ${whose}`;
        chip.className = "chip warn-word";
    }
    return chip;
}

function addWorker(tile, task, work, now) {
    const say = (text, kind) => tile.append(element("p", text, kind));
    say(`process ${task.pid}, ${task.lanes === 1 ? "1 lane" : `${task.lanes} lanes`}`, "quiet");
    const does = [], { own, late } = work;
    if (task.state === "gone") return;
    if (task.computing >= 0) does.push(`computes step ${task.computing}`);
    if (task.holds >= 0) does.push(`holds version ${task.holds}`);
    if (does.length) say(does.join(", "));
    if (own.length) say(`slots ${ranges(own.map((o) => o.slot))}`);
    if (late.length) say(`late: slots ${ranges(late)} are hedged`, "warn-word");
    const chips = element("ul", undefined, "chips");
    for (let lane = 0; lane < Math.min(task.lanes, 64); lane++) chips.append(laneChip(lane, work));
    if (task.lanes > 1 || work.others.length) tile.append(chips);
    if (task.figures) tile.append(...timeBar(`${chosen()} ${task.task}`, task.figures, now));
    if (task.credits && task.credits.length) tile.append(...creditLines(task.credits));
}

function addServer(tile, task) {
    const say = (text, kind) => tile.append(element("p", text, kind));
    say(task.endpoint, "quiet");
    const does = [];
    if (task.acts_for && task.acts_for.length) does.push(`acts for shard ${task.acts_for.join(", ")}`);
    if (task.stands_by_for && task.stands_by_for.length) does.push(`stands by for ${task.stands_by_for.join(", ")}`);
    if (does.length) say(does.join(", "));
    if (task.state === "gone") return;
    if (task.parts && task.parts.length) tile.append(...partRowsOf(task));
    else if (task.bytes) say(`${bytes(task.bytes)} of weights`, "quiet");
}

function addMaster(tile, task) {
    const say = (text, kind) => tile.append(element("p", text, kind));
    if (task.pid) say(`process ${task.pid}`, "quiet");
    say(`era ${task.era}, phase ${task.phase}`);
    if (task.figures.tequio_master_reports_total)
        say(`${task.figures.tequio_master_reports_total} reports, ` +
            `${task.figures.tequio_master_checkpoints_total} checkpoints in this start`, "quiet");
}

function addEvaluator(tile, task) {
    tile.append(element("p", task.evaluated >= 0 ? `evaluated step ${task.evaluated}` : "has evaluated nothing yet"));
}

/* What all tiles are drawn from beside their task. */
function sceneOf(live) {
    return { live, work: workOf(live), awaited: awaitedBy(live) };
}

function taskTile(task, scene) {
    const tile = element("article", undefined, `tile ${taskClass(task)}`);
    const say = (text, kind) => tile.append(element("p", text, kind));
    tile.append(element("h4", `${task.task}: ${task.state}`));
    if (task.silent_s > 10) say(`silent for ${duration(task.silent_s)}`, "bad-word");
    if (task.why) say(task.why, "bad-word");
    for (const one of scene.live.awaits || [])
        if (one.task === task.task) say(awaitWords(one), one.usual ? "quiet" : "warn-word");
    const by = scene.awaited.get(task.task);
    if (by) say(`awaited by ${[...new Set(by)].join(", ")}`, "warn-word");
    if (task.told_s > 10 && task.state !== "gone") say(`told ${duration(task.told_s)} ago:`, "warn-word");
    if (task.phase) addMaster(tile, task);
    else if (task.endpoint) addServer(tile, task);
    else if (task.evaluated !== undefined) addEvaluator(tile, task);
    else addWorker(tile, task, scene.work.get(task.task) || { own: [], late: [], others: [] }, scene.live.time);
    return tile;
}

/* Servers of this machine's loopback interface are where the workers are. */
function hostOf(task, live) {
    if (!task.endpoint) return task.host || "?";
    const [, host] = task.endpoint.match(/^[a-z]+:\/\/(.*):[^:]*$/) || [null, task.endpoint];
    const first = (live.workers || [])[0];
    return /^(127\.|localhost$|\[::1\]$)/.test(host) && first && first.host ? first.host : host;
}

function hostRoom(name, tasks, scene) {
    const room = element("section", undefined, "host"), tiles = element("div", undefined, "tiles");
    const title = element("h3", `host ${name}`);
    title.id = `host-${name}`;
    room.setAttribute("aria-labelledby", title.id);
    tiles.append(...tasks.map((task) => taskTile(task, scene)));
    room.append(title, tiles);
    return room;
}

function drawHosts(live, tasks) {
    const hosts = new Map(), scene = sceneOf(live);
    for (const task of tasks) {
        const isAnywhere = task.evaluated !== undefined; /* nobody tells where it is */
        const host = !isAnywhere ? hostOf(task, live) : hosts.size === 1 ? [...hosts.keys()][0] : "not known";
        if (!hosts.has(host)) hosts.set(host, []);
        hosts.get(host).push(task);
    }
    byId("tasks").replaceChildren(...[...hosts].map(([name, of]) => hostRoom(name, of, scene)));
}

/* --- the slots of a step --- */

const SLOTS_MOST = 512;

/* Neighbouring slots of one lane as one piece. */
function slotPieces(slots) {
    const pieces = [];
    slots.forEach((slot, i) => {
        const last = pieces[pieces.length - 1], second = slot.hedged_by ? slot.hedged_by.task : "";
        if (last && last.task === slot.task && last.second === second) last.to = i;
        else pieces.push({ task: slot.task, second, from: i, to: i });
    });
    return pieces;
}

function slotPiece(piece) {
    const n = piece.to - piece.from + 1, made = element("li", undefined, piece.second ? "hedged" : "");
    made.style.flexGrow = n;
    made.append(element("span", n === 1 ? `${piece.from}` : `${piece.from}-${piece.to}`, "quiet"),
        element("span", piece.task));
    if (piece.second) made.append(element("span", `late, ${piece.second} too`, "warn-word"));
    return made;
}

function drawSlots(slots) {
    const room = byId("slots");
    room.hidden = byId("slots-title").hidden = !slots.length || slots.length > SLOTS_MOST;
    room.replaceChildren(...(room.hidden ? [] : slotPieces(slots).map(slotPiece)));
}

/* --- waits --- */

const WAITS_SHOWN = 12;

/* Of every task, in words; of a master of an older version its own. */
function awaitsOf(live) {
    if (!live.awaits) {
        const own = (live.waits || []).map((text) => [text, "warn-word"]);
        if (live.waits_left_out) own.push([`and for ${live.waits_left_out} more`, "warn-word"]);
        return own;
    }
    const told = [...live.awaits].sort((a, b) => a.usual - b.usual || b.since_s - a.since_s);
    const lines = told.slice(0, WAITS_SHOWN).map((one) => [`${one.task} ${awaitWords(one)}`,
        one.usual ? "quiet" : "warn-word"]);
    const more = told.length - lines.length + (live.awaits_left_out || 0);
    if (more > 0) lines.push([`and so do ${more} more`, "quiet"]);
    return lines;
}

function waitsOf(run) {
    const { live } = run.status, waits = awaitsOf(live), age = Date.now() / 1000 - live.time;
    if (live.disk) waits.push([`the job dir takes nothing since ${duration(live.disk_s)}: ${live.disk}`, "bad-word"]);
    if (age > 10)
        waits.push([`nothing was told for ${duration(age)}: the master hangs, its host is cut off, or the job dir ` +
                    "takes nothing", "bad-word"]);
    return waits;
}

function stepWords(live) {
    const parts = [`era ${live.era}`, `phase ${live.phase}`];
    if (live.step !== undefined) parts.push(`step ${live.step} is open`);
    if (live.step_since_s >= 1) parts.push(`since ${number(live.step_since_s)} s`);
    if (live.usual_step_s) parts.push(`a step takes ${number(live.usual_step_s)} s`);
    return parts.join(", ");
}

/* "4711 on host", as status has it. */
function masterTask(job, live) {
    if (!live.master) return [];
    const [, pid, host] = /^(\d+) on (.*)$/.exec(job.master || "") || [];
    return [{ ...live.master, state: "at work", era: live.era, phase: live.phase, pid, host }];
}

function drawTasks() {
    const run = runs[chosen()], { job, live } = run.status;
    const running = job.state === "running" && !(live && live.phase === "over"), is = running && live;
    const tasks = is ? [...masterTask(job, live), ...(live.servers || []), ...(live.workers || []),
        ...(live.evaluator ? [live.evaluator] : [])] : [];
    byId("waits").replaceChildren(...(is ? waitsOf(run) : []).map(([text, kind]) => element("li", text, kind)));
    byId("cells").hidden = !tasks.some((task) => task.parts && task.parts.length);
    byId("step").textContent = is ? stepWords(live) : "";
    drawSlots((is && live.slots) || []);
    drawHosts(live || {}, tasks);
    drawParts(is ? live : null);
    if (!tasks.length)
        byId("tasks").append(element("p", running ? "nothing is told of its tasks yet" : "no task is at work"));
}
