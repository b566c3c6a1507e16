/* One run: its tasks as tiles, for whom all wait, its log, its configuration, and what can be done with it. */

function chosen() {
    return Number(byId("run").value || 0);
}

function taskClass(task) {
    if (["gone", "hangs", "refused"].includes(task.state)) return "bad";
    return task.state === "at work" ? "good" : "warn";
}

function slotsOf(live, name, key) {
    const mine = [];
    (live.slots || []).forEach((slot, i) => {
        const owner = key ? slot[key] : slot;
        if (owner && owner.task === name) mine.push(i);
    });
    return mine;
}

function taskTile(live, task) {
    const tile = element("article", undefined, `tile ${taskClass(task)}`);
    const say = (text, kind) => tile.append(element("p", text, kind));
    tile.append(element("h3", `${task.task}: ${task.state}`));
    if (task.silent_s > 10) say(`silent for ${duration(task.silent_s)}`, "bad-word");
    if (task.endpoint) say(task.endpoint, "quiet");
    const lanes = task.lanes === 1 ? "1 lane" : `${task.lanes} lanes`;
    if (task.host) say(`process ${task.pid} on ${task.host}, ${lanes}`, "quiet");
    if (task.why) say(task.why, "bad-word");
    if (task.acts_for && task.acts_for.length) say(`acts for shard ${task.acts_for.join(", ")}`);
    if (task.stands_by_for && task.stands_by_for.length) say(`stands by for ${task.stands_by_for.join(", ")}`);
    if (task.computing >= 0) say(`computes step ${task.computing}`);
    const mine = slotsOf(live, task.task), others = slotsOf(live, task.task, "hedged_by");
    if (mine.length) say(`slots ${mine.join(", ")}`);
    if (others.length) say(`for others slots ${others.join(", ")} too`);
    return tile;
}

function drawTasks() {
    const { job, live } = runs[chosen()].status;
    const running = job.state === "running" && !(live && live.phase === "over");
    const tasks = running && live ? [...(live.servers || []), ...(live.workers || [])] : [];
    const waits = running && live ? [...(live.waits || [])] : [];
    const age = live ? Date.now() / 1000 - live.time : 0;
    if (running && live && live.disk)
        waits.push(`the job dir takes nothing since ${duration(live.disk_s)}: ${live.disk}`);
    if (running && age > 10)
        waits.push(`nothing was told for ${duration(age)}: the master hangs, its host is cut off, or the job dir takes ` +
                   "nothing");
    byId("tasks").replaceChildren(...tasks.map((task) => taskTile(live, task)));
    byId("waits").replaceChildren(...waits.map((text) => element("li", text)));
    if (!tasks.length)
        byId("tasks").append(element("p", running ? "nothing is told of its tasks yet" : "no task is at work"));
}

/* --- log --- */

const LEVELS = ["debug", "info", "warn", "error"];

function levelOf(line) {
    const word = line.split(" ")[2];
    return LEVELS.includes(word) ? word : "info";
}

async function drawLog() {
    const task = byId("log-task").value, least = LEVELS.indexOf(byId("log-level").value), word = byId("log-word").value;
    const text = byId("log-text"), atEnd = text.scrollTop + text.clientHeight >= text.scrollHeight - 4;
    if (!task) return text.replaceChildren();
    const answer = await ask(`/api/run/${chosen()}/log?task=${encodeURIComponent(task)}`);
    const kept = (await answer.text()).split("\n").filter(
        (line) => line && LEVELS.indexOf(levelOf(line)) >= least && line.includes(word));
    text.replaceChildren(...kept.map((line) => element("span", line + "\n", levelOf(line))));
    if (atEnd) text.scrollTop = text.scrollHeight;
}

/* --- configuration --- */

function flatten(value, path, ret) {
    const isObject = (v) => v !== null && typeof v === "object";
    if (!isObject(value) || (Array.isArray(value) && !value.some(isObject)))
        ret.set(path, JSON.stringify(value));
    else
        for (const key of Object.keys(value)) flatten(value[key], path ? `${path}.${key}` : key, ret);
    return ret;
}

function drawConfig() {
    const mine = flatten(runs[chosen()].config, "", new Map()), at = byId("other").value;
    const other = at === "" ? null : flatten(runs[Number(at)].config, "", new Map()), rows = [];
    const keys = [...new Set([...mine.keys(), ...(other ? other.keys() : [])])].sort();
    for (const key of keys) {
        const row = element("tr"), differs = other && mine.get(key) !== other.get(key);
        if (other && !differs) continue;
        row.append(element("td", key), element("td", mine.get(key) || "-"));
        if (other) row.append(element("td", other.get(key) || "-"));
        if (differs) row.className = "differs";
        rows.push(row);
    }
    const head = element("tr");
    for (const title of ["key", runs[chosen()].name, ...(other ? [runs[Number(at)].name] : [])]) {
        const cell = element("th", title);
        cell.scope = "col";
        head.append(cell);
    }
    byId("config").tHead.replaceChildren(head);
    byId("config").tBodies[0].replaceChildren(...rows);
}

/* --- commands --- */

function quoted(word) {
    return /^[\w\/.,:@%+-]+$/.test(word) ? word : `'${word.replaceAll("'", "'\\''")}'`;
}

function drawCommands() {
    const run = runs[chosen()], dir = quoted(run.dir), steps = run.status.job.checkpoints || [], list = [
        `tequio status ${dir} --follow`, `tequio logs ${dir} --follow`, `tequio inspect ${dir}`];
    if (run.status.job.state !== "running") {
        list.push(`tequio evaluate ${dir}`, `tequio export ${dir} --format onnx -o model.onnx`);
        for (const step of steps) list.push(`tequio train ${dir}/config.json -s ${dir} --recover=step-${step}`);
    }
    byId("commands").replaceChildren(...list.map((text) => {
        const row = element("li"), copy = element("button", "copy");
        copy.type = "button";
        copy.setAttribute("aria-label", `copy: ${text}`);
        copy.onclick = () => navigator.clipboard.writeText(text);
        row.append(element("code", text), " ", copy);
        return row;
    }));
}
