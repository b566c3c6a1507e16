/* The ends of one run's logs, of a task or of all of them as one. */

const LEVELS = ["debug", "info", "warn", "error"], DAY_MS = 86400000;
let logAsked = 0, logDrawn = 0;

function levelOf(line) {
    const word = line.split(" ")[2];
    return LEVELS.includes(word) ? word : "info";
}

/* Milliseconds since midnight; NaN: it has no time of its own. */
function timeOf(line) {
    const at = line.match(/^(\d\d):(\d\d):(\d\d)\.(\d\d\d) /);
    return at ? ((Number(at[1]) * 60 + Number(at[2])) * 60 + Number(at[3])) * 1000 + Number(at[4]) : NaN;
}

/* Lines with their times, before the midnight that follows the last one: one without has that of the line before, and
 * what goes back by half a day is the next day's. */
function timedLines(text) {
    let day = 0, before = 0;
    const lines = text.split("\n").filter((line) => line).map((line) => {
        let at = timeOf(line);
        if (Number.isNaN(at)) return { line, at: before };
        at += day;
        if (at < before - DAY_MS / 2) {
            day += DAY_MS;
            at += DAY_MS;
        }
        before = at;
        return { line, at };
    });
    for (const line of lines) line.at -= day;
    return lines;
}

const logs = new Map();    /* {mark, lines} by run and task, of those that nothing was told of since */

async function linesOfTask(index, task) {
    const marks = runs[index].logMarks, mark = marks && marks[task], name = `${index} ${task}`;
    if (mark && logs.has(name) && logs.get(name).mark === mark) return logs.get(name).lines;
    const lines = timedLines(await (await ask(`/api/run/${index}/log?task=${encodeURIComponent(task)}`)).text());
    logs.set(name, { mark, lines });
    return lines;
}

async function linesOf(index, tasks) {
    const all = (await Promise.all(tasks.map((task) => linesOfTask(index, task)))).flat();
    return tasks.length > 1 ? all.sort((a, b) => a.at - b.at) : all;
}

/* What an event draws anew meanwhile shows the same choice: only older lines and those of another choice are dropped. */
async function drawLog() {
    const run = chosen(), task = byId("log-task").value, asked = ++logAsked;
    const lines = await linesOf(run, task === "" ? runs[run].tasks || [] : [task]);
    if (asked < logDrawn || run !== chosen() || task !== byId("log-task").value) return;
    logDrawn = asked;
    const least = LEVELS.indexOf(byId("log-level").value), word = byId("log-word").value;
    const text = byId("log-text"), atEnd = text.scrollTop + text.clientHeight >= text.scrollHeight - 4;
    const kept = lines.filter(({ line }) => LEVELS.indexOf(levelOf(line)) >= least && line.includes(word)).slice(-2000);
    text.replaceChildren(...kept.map(({ line }) => element("span", line + "\n", levelOf(line))));
    if (atEnd) text.scrollTop = text.scrollHeight;
}
