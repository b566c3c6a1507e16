/* One run's checkpoints, and commands to copy. */

function quoted(word) {
    return /^[\w\/.,:@%+-]+$/.test(word) ? word : `'${word.replaceAll("'", "'\\''")}'`;
}

function copyButton(word, text) {
    const copy = element("button", word);
    copy.type = "button";
    copy.title = text;
    copy.setAttribute("aria-label", `copy: ${text}`);
    copy.onclick = async () => {
        await navigator.clipboard.writeText(text);
        byId("copied").textContent = `copied: ${text}`;
    };
    return copy;
}

/* Anew, and the focus stays on the button of the same name. */
function redrawButtons(room, made) {
    const before = room.contains(document.activeElement) && document.activeElement.getAttribute("aria-label");
    room.replaceChildren(...made);
    if (!before) return;
    const same = [...room.querySelectorAll("button")].find((button) => button.getAttribute("aria-label") === before);
    if (same) same.focus({ preventScroll: true });
}

/* What can be done with a checkpoint; a job that runs holds its dir, so nobody else can go on with it. */
function commandsOf(run, step) {
    const dir = quoted(run.dir), folder = quoted(`${run.dir}/checkpoints/step-${String(step).padStart(9, "0")}`);
    const list = [["evaluate", `tequio evaluate ${folder}`],
                  ["export", `tequio export ${folder} --format onnx -o step-${step}.onnx`]];
    if (run.status.job.state !== "running")
        list.unshift(["resume", `tequio train ${quoted(`${run.dir}/config.json`)} -s ${dir} --recover=step-${step}`]);
    return list;
}

function evaluationOf(run, step) {
    return run.files.evaluations.rows.findLast((row) => row.step === step);
}

function checkpointRow(run, step, best) {
    const row = element("tr"), judged = evaluationOf(run, step), commands = element("td", undefined, "buttons");
    const figures = judged ? figuresOf(judged, ["step", "epochs_done", "examples", "seconds"]) : "";
    commands.append(...commandsOf(run, step).map(([word, text]) => copyButton(word, text)));
    row.append(element("td", `${step}${step === best ? " (best)" : ""}`),
        element("td", stepsPerEpoch(run) ? number(step / stepsPerEpoch(run)) : ""), element("td", figures), commands);
    if (step === best) row.className = "best";
    return row;
}

function drawCheckpoints() {
    const run = runs[chosen()], steps = run.status.job.checkpoints || [];
    redrawButtons(byId("checkpoints").tBodies[0], [...steps].reverse()
        .map((step) => checkpointRow(run, step, bestStep(run))));
    byId("checkpoints").hidden = !steps.length;
    byId("no-checkpoints").hidden = steps.length > 0;
}

function drawCommands() {
    const run = runs[chosen()], dir = quoted(run.dir);
    const list = [`tequio status ${dir} --follow`, `tequio logs ${dir} --follow`, `tequio inspect ${dir}`];
    if (run.status.job.state === "finished")
        list.push(`tequio evaluate ${dir}`, `tequio export ${dir} --format onnx -o model.onnx`);
    else if (run.status.job.state !== "running")
        list.push(`tequio train ${quoted(`${run.dir}/config.json`)} -s ${dir} --recover`);
    redrawButtons(byId("commands"), list.map((text) => {
        const row = element("li");
        row.append(element("code", text), " ", copyButton("copy", text));
        return row;
    }));
}
