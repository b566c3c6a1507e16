/* One run's cluster: hosts, the tasks on each as tiles, who computes which slots and holds which shards, and for whom
 * all wait. */

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

function addWorker(say, tile, task, work) {
    say(`process ${task.pid}, ${task.lanes === 1 ? "1 lane" : `${task.lanes} lanes`}`, "quiet");
    if (task.computing >= 0) say(`computes step ${task.computing}`);
    if (task.holds >= 0) say(`holds version ${task.holds}`);
    const { own, late } = work;
    if (own.length) say(`slots ${ranges(own.map((o) => o.slot))}`);
    if (late.length) say(`late: slots ${ranges(late)} are hedged`, "warn-word");
    const chips = element("ul", undefined, "chips");
    for (let lane = 0; lane < Math.min(task.lanes, 64); lane++) chips.append(laneChip(lane, work));
    if (task.lanes > 1 || work.others.length) tile.append(chips);
}

function addServer(say, task) {
    say(task.endpoint, "quiet");
    if (task.acts_for && task.acts_for.length) say(`acts for shard ${task.acts_for.join(", ")}`);
    if (task.stands_by_for && task.stands_by_for.length) say(`stands by for ${task.stands_by_for.join(", ")}`);
    if (task.bytes) say(`${bytes(task.bytes)} of weights`, "quiet");
}

function taskTile(task, work) {
    const tile = element("article", undefined, `tile ${taskClass(task)}`);
    const say = (text, kind) => tile.append(element("p", text, kind));
    tile.append(element("h4", `${task.task}: ${task.state}`));
    if (task.silent_s > 10) say(`silent for ${duration(task.silent_s)}`, "bad-word");
    if (task.why) say(task.why, "bad-word");
    if (task.endpoint) addServer(say, task);
    else addWorker(say, tile, task, work);
    return tile;
}

/* Servers of this machine's loopback interface are where the workers are. */
function hostOf(task, live) {
    if (!task.endpoint) return task.host || "?";
    const [, host] = task.endpoint.match(/^[a-z]+:\/\/(.*):[^:]*$/) || [null, task.endpoint];
    const first = (live.workers || [])[0];
    return /^(127\.|localhost$|\[::1\]$)/.test(host) && first && first.host ? first.host : host;
}

function hostRoom(name, tasks, work) {
    const room = element("section", undefined, "host"), tiles = element("div", undefined, "tiles");
    const title = element("h3", `host ${name}`);
    title.id = `host-${name}`;
    room.setAttribute("aria-labelledby", title.id);
    tiles.append(...tasks.map((task) => taskTile(task, work.get(task.task) || { own: [], late: [], others: [] })));
    room.append(title, tiles);
    return room;
}

function drawHosts(live, tasks) {
    const hosts = new Map(), work = workOf(live);
    for (const task of tasks) {
        const host = hostOf(task, live);
        if (!hosts.has(host)) hosts.set(host, []);
        hosts.get(host).push(task);
    }
    byId("tasks").replaceChildren(...[...hosts].map(([name, of]) => hostRoom(name, of, work)));
}

function waitsOf(run) {
    const { live } = run.status, waits = [...(live.waits || [])], age = Date.now() / 1000 - live.time;
    if (live.waits_left_out) waits.push(`and for ${live.waits_left_out} more`);
    if (live.disk) waits.push(`the job dir takes nothing since ${duration(live.disk_s)}: ${live.disk}`);
    if (age > 10)
        waits.push(`nothing was told for ${duration(age)}: the master hangs, its host is cut off, or the job dir ` +
                   "takes nothing");
    return waits;
}

function stepWords(live) {
    const parts = [`era ${live.era}`, `phase ${live.phase}`];
    if (live.step !== undefined) parts.push(`step ${live.step} is open`);
    if (live.step_since_s >= 1) parts.push(`since ${number(live.step_since_s)} s`);
    if (live.usual_step_s) parts.push(`a step takes ${number(live.usual_step_s)} s`);
    return parts.join(", ");
}

function drawTasks() {
    const run = runs[chosen()], { job, live } = run.status;
    const running = job.state === "running" && !(live && live.phase === "over");
    const tasks = running && live ? [...(live.servers || []), ...(live.workers || [])] : [];
    byId("waits").replaceChildren(...(running && live ? waitsOf(run) : []).map((text) => element("li", text)));
    byId("step").textContent = running && live ? stepWords(live) : "";
    drawHosts(live || {}, tasks);
    if (!tasks.length)
        byId("tasks").append(element("p", running ? "nothing is told of its tasks yet" : "no task is at work"));
}
