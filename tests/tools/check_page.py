"""What a browser makes of the page of jobs: check_page.py ADDRESS FOLDER LONG_METRICS PICTURES

ADDRESS serves the jobs job (a server and a worker are frozen), done, long, whose metrics.jsonl has 100 000 lines, and old,
whose live.json is of another version, and which has little else.
FOLDER is the browser's, LONG_METRICS that file, PICTURES a folder for screenshots. Prints what is wrong, and fails
then."""
import json
import statistics
import sys

from browser import Browser

# Rules of accessibility that can be checked without eyes (WCAG 2.2: 1.1.1, 1.3.1, 1.4.3, 2.4.6, 3.1.1, 4.1.2).
RULES = r"""(() => {
    const faults = [], all = (selector) => [...document.querySelectorAll(selector)];
    const isShown = (e) => e.checkVisibility() && e.getClientRects().length > 0;
    const name = (e) => e.getAttribute("aria-label") || (e.labels && e.labels[0] && e.labels[0].textContent.trim()) ||
        (["BUTTON", "SUMMARY", "A"].includes(e.tagName) && e.textContent.trim());
    const say = (e, what) =>
        faults.push(`${e.tagName.toLowerCase()}#${e.id} "${e.textContent.trim().slice(0, 30)}": ${what}`);
    for (const e of all("select, input, button, summary, a, textarea")) if (!name(e)) say(e, "has no name");
    for (const e of all("canvas, svg, img"))
        if (e.getAttribute("role") !== "img" || !e.getAttribute("aria-label")) say(e, "has no text");
    for (const e of all("progress, section, [role=region], pre, form"))
        if (!e.getAttribute("aria-label") && !document.getElementById(e.getAttribute("aria-labelledby")))
            say(e, "has no name");
    for (const e of all("th")) if (!e.scope) say(e, "does not say what it heads");
    if (all("h1").length !== 1) faults.push(`${all("h1").length} h1`);
    for (const one of ["header", "main"]) if (all(one).length !== 1) faults.push(`no ${one}`);
    if (document.documentElement.lang !== "en") faults.push("no language");
    let level = 1;
    for (const e of all("h1, h2, h3, h4, h5")) {
        const is = Number(e.tagName[1]);
        if (is > level + 1) say(e, `comes after h${level}`);
        level = is;
    }
    const ids = all("[id]").map((e) => e.id);
    for (const id of new Set(ids.filter((id, i) => ids.indexOf(id) !== i))) faults.push(`two of id ${id}`);
    for (const e of all("*"))
        if (isShown(e) && ["auto", "scroll"].includes(getComputedStyle(e).overflowY) &&
            e.scrollHeight > e.clientHeight + 1 && e.tabIndex < 0) say(e, "scrolls, and has no focus");

    const parsed = (text) => {
        const numbers = text.match(/[\d.]+/g).map(Number), is = text.startsWith("color(") ? 1 : 255;
        return [...numbers.slice(0, 3).map((n) => n / is), numbers.length > 3 ? numbers[3] : 1];
    };
    const luminance = (rgb) => [0.2126, 0.7152, 0.0722].reduce((sum, weight, i) =>
        sum + weight * (rgb[i] <= 0.04045 ? rgb[i] / 12.92 : ((rgb[i] + 0.055) / 1.055) ** 2.4), 0);
    const back = (e) => {
        for (; e; e = e.parentElement) {
            const colour = parsed(getComputedStyle(e).backgroundColor);
            if (colour[3] === 1) return colour;
        }
        return [1, 1, 1, 1];
    };
    for (const e of all("body *")) {
        const hasText = [...e.childNodes].some((n) => n.nodeType === 3 && n.textContent.trim());
        if (!hasText || !isShown(e) || ["SCRIPT", "STYLE", "OPTION", "title"].includes(e.tagName)) continue;
        const style = getComputedStyle(e), front = e instanceof SVGElement ? style.fill : style.color;
        const [a, b] = [luminance(parsed(front)), luminance(back(e))].sort((x, y) => y - x);
        const size = parseFloat(style.fontSize), isLarge = size >= 24 || (size >= 18.66 && style.fontWeight >= 700);
        const contrast = (a + 0.05) / (b + 0.05);
        if (contrast < (isLarge ? 3 : 4.5)) say(e, `has a contrast of ${contrast.toFixed(2)}`);
    }
    return faults;
})()"""

# Where the focus is: which of all that can have it, in the order of the page, and whether that is seen.
FOCUS = r"""(() => {
    const all = [...document.querySelectorAll("select, input, button, summary, a[href], [tabindex='0']")]
        .filter((e) => e.checkVisibility() && !e.disabled);
    const style = getComputedStyle(document.activeElement);
    const isSeen = style.outlineStyle !== "none" && parseFloat(style.outlineWidth) > 0;
    return [all.indexOf(document.activeElement), all.length, isSeen];
})()"""

DRAWN = "document.readyState === 'complete' && document.body.dataset.looks > {looks} && !due.size"
wrong = []


def expect(is_so, what):
    if not is_so:
        wrong.append(what)


def text_of(page, selector):
    return page.value(f"document.querySelector({json.dumps(selector)}).innerText")


def check_live(page):
    """Events move the page, without a look of its own; where the stream is closed it looks, and listens again."""
    page.until("byId('how').textContent === 'live'")
    page.value("looksBefore = Number(document.body.dataset.looks), timeBefore = runs[0].status.live.time, 0")
    page.until("Number(document.body.dataset.looks) > looksBefore && runs[0].status.live.time > timeBefore")
    asked = page.value("performance.getEntriesByType('resource').filter((e) => e.name.endsWith('/status')).length")
    expect(asked <= 2 * page.value("runs.length"), f"it asks for {asked} documents although it is told")
    page.value("source.close(), timeBefore = runs[0].status.live.time, 0")
    page.until("runs[0].status.live.time > timeBefore")
    page.value("listen()")
    page.until("isHeard() && byId('how').textContent === 'live'")
    page.value("lookNow()") # what the job does now is known from here on
    page.until("!due.size")


def check_words(page):
    expect(page.value("document.title") == "tequio: job, done, long, old", f"the title is {page.value('document.title')}")
    expect(page.value("document.getElementById('trouble').hidden"), f"trouble: {text_of(page, '#trouble')}")
    tasks, runs, events = text_of(page, "#tasks"), text_of(page, "#runs"), text_of(page, "#events")
    for word in ("worker.1: gone", "worker.0: at work", "slots 0-3", "ps.0: at work", "acts for shard 0, 1"):
        expect(word in tasks, f"the cluster does not say '{word}': {tasks}")
    expect("finished, start 1" in runs and "cost " in runs and " in all" in runs, f"runs: {runs}")
    done = page.value("[...document.querySelectorAll('#runs .tile')].map((t) => t.innerText).find((t) => t.startsWith('done'))")
    expect("cost " in done and "so far" not in done, f"what is finished costs no more: {done}")
    many = page.value("""someFigures({ ...Object.fromEntries(Array.from({ length: 100 }, (_, i) => [`m${i}`, i])), loss: 2 },
        ["m1"])""")
    expect(many.startswith("loss 2, m0 0, m2 2") and many.endswith("m11 11, and 88 more"), f"a hundred metrics: {many}")
    newer, older = page.value("""(() => { /* at once: the next event tells again what is */
        const { live } = runs[0].status, { step } = lastRow(runs[0], "metrics"), was = { ...live };
        const tile = (told) => (Object.assign(live, told), runTile(runs[0]).textContent);
        const texts = [tile({ step: step + 3, loss: 12.5 }), tile({ step: step - 1, loss: 12.5 })];
        Object.assign(live, was);
        return texts;
    })()""")
    expect("loss 12.5" in newer and "loss 12.5" not in older, f"the newest loss: {newer}, {older}")
    for word in ("worker.1\t", "is silent for ", "ps.1\t", "is there at ", "start 1 begins"):
        expect(word in events, f"the timeline does not say '{word}': {events}")
    for selector, least in (("#tasks .part.acts", 1), ("#tasks .bar", 1), ("#tasks .credits .meter", 2), ("#slots li", 1),
                            ("#timeline .era", 2)):
        n = page.value(f"document.querySelectorAll({json.dumps(selector)}).length")
        expect(n >= least, f"there are {n} of {selector}")
    expect("master.0: at work" in tasks and "asked for at" in text_of(page, "#cells"), f"the cluster: {tasks}")
    page.value("byId('parts-all').open = true, drawTasks()")
    expect("ps.0 at version " in text_of(page, "#parts"), f"parts: {text_of(page, '#parts')}")
    waits, awaited = page.value("""(() => { /* at once: the next event tells again what is */
        runs[0].status.live.awaits.push({task: 'worker.3', whom: 'ps.0', words: 'part 17 of ps.0', since_s: 7.21, usual: false});
        drawTasks();
        return [byId('waits').innerText, byId('tasks').innerText];
    })()""")
    expect("worker.3 waits for part 17 of ps.0 since 7.2 s" in waits, f"waits: {waits}")
    expect("awaited by worker.3" in awaited, "ps.0 is not said to be awaited")
    gone = page.value("document.querySelectorAll('#timeline .stretch.bad').length")
    expect(gone > 0, "nobody is gone in the timeline")
    label = page.value("[...document.querySelectorAll('canvas')].map((c) => c.getAttribute('aria-label')).join('|')")
    for word in ("loss: job ", "; done, validation ", ", best "):
        expect(word in label, f"curves do not say '{word}': {label}")
    page.value("byId('log-task').value = '', byId('log-word').value = 'LOST', drawLog()")
    log = text_of(page, "#log-text").strip().split("\n")
    expect(log[0] and all("LOST" in line for line in log), f"the log shows {log[:3]}")
    page.value("byId('other').value = '1', byId('other').onchange()")
    expect("trainer.num_epochs" in text_of(page, "#config"), f"the difference is {text_of(page, '#config')}")


def check_other_run(page):
    page.value("byId('run').value = '1', byId('run').onchange()")
    rows = page.value("[...document.querySelectorAll('#checkpoints tbody tr')].map((row) => row.innerText)")
    expect(sum("(best)" in row for row in rows) == 1 and "accuracy " in rows[0], f"checkpoints: {rows}")
    label = page.value("document.querySelector('#checkpoints .buttons button').getAttribute('aria-label')")
    expect(label.startswith("copy: tequio train ") and "--recover=step-128" in label, f"the command is {label}")
    expect("step 128: accuracy " in text_of(page, "#evaluation"), f"evaluation: {text_of(page, '#evaluation')}")
    page.until("!byId('worst-all').hidden && byId('worst').tBodies[0].rows.length === 3")
    page.until("[...document.querySelectorAll('#worst img')].filter((i) => i.complete && i.naturalWidth === 8).length === 3")
    expect(", example " in text_of(page, "#worst"), f"the worst: {text_of(page, '#worst')}")
    expect("the job is done" in text_of(page, "#events"), f"events: {text_of(page, '#events')}")
    page.value("""counts = [100, 99, 98, 97].map((n, row) => Array.from({ length: 101 }, (_, k) => row < 2 ? 100 - k : k)),
        isPrCurve(counts) && byId("evaluation").append(prCurvePicture("pr_curve", counts)), 0""")
    label = page.value("document.querySelector('.pr-curve').getAttribute('aria-label')")
    expect(label == "pr_curve: precision over recall; at a threshold of 0.5 precision 0.5, recall 0.5", f"curve: {label}")
    wrong.extend(page.value(RULES))
    page.value("byId('histograms').open = true, lookAtHistograms()")
    label = page.value("byId('histogram').getAttribute('aria-label')")
    expect(label.startswith("gradients/") and "; at step 128 most lie at about " in label, f"histograms: {label}")
    inked = page.value("byId('histogram').getContext('2d').getImageData(0, 0, 240, 256).data.some((n) => n > 0)")
    expect(inked, "the histograms' picture is empty")
    check_profile(page)
    expect("no task is at work" in text_of(page, "#tasks"), f"tasks: {text_of(page, '#tasks')}")


def check_old_run(page):
    page.value("byId('run').value = '3', byId('run').onchange()")
    page.value("lookNow()")
    expect(page.value("document.getElementById('trouble').hidden"), f"an old run: {text_of(page, '#trouble')}")
    runs = text_of(page, "#runs")
    expect(runs.count("finished, start 1") == 3 and "cannot be read" not in runs, f"runs: {runs}")
    expect("no task is at work" in text_of(page, "#tasks"), f"tasks: {text_of(page, '#tasks')}")


def check_profile(page):
    """Its picture, what is named in it by keys, tables."""
    page.value("byId('profiles').open = true, 0")
    page.until("profile !== null && byId('profile-what').textContent")
    label = page.value("byId('profile-picture').getAttribute('aria-label')")
    expect(" threads did in the steps 5 to 8; " in label, f"the profile: {label}")
    titles = page.value("profile.rows.map((row) => row.title)")
    for title in ("worker.0 lane 0", "worker.0 messages", "ps.0 updates", "master.0 master"):
        expect(title in titles, f"the profile has no row {title}: {titles}")
    expect("fc1" in text_of(page, "#profile-nodes"), f"nodes: {text_of(page, '#profile-nodes')}")
    expect("Clocks agree to " in text_of(page, "#profile-about"), f"clocks: {text_of(page, '#profile-about')}")
    inked = page.value("byId('profile-picture').getContext('2d').getImageData(150, 0, 800, 60).data.some((n) => n > 0)")
    expect(inked, "the profile is empty")
    for key in "nn+":
        page.value(f"byId('profile-picture').dispatchEvent(new KeyboardEvent('keydown', {{key: '{key}'}})), 0")
    expect(text_of(page, "#profile-what").startswith("worker.0 lane 0: "), f"named: {text_of(page, '#profile-what')}")
    expect(page.value("profileUntil - profileFrom < profile.end - profile.begin"), "+ does not zoom")
    wrong.extend(page.value(RULES))
    page.value("byId('profiles').open = false, 0")


def check_sizes(page):
    for dark in (False, True):
        page.scheme(dark)
        for width in (360, 768, 1440, 2560):
            page.size(width, 900)
            page.value("lookNow()")
            page.until("!due.size")
            wide = page.value("document.documentElement.scrollWidth - innerWidth")
            expect(wide <= 0, f"at {width} it scrolls sideways by {wide}")
        for fault in page.value(RULES):
            expect(False, f"{'dark' if dark else 'light'}: {fault}")


def check_focus(page):
    """What is drawn anew leaves the focus where it is."""
    for where in ("#commands button", "#parts-all summary"):
        page.value(f"document.querySelector({json.dumps(where)}).focus()")
        before = page.value("document.activeElement.outerHTML")
        page.value("lookNow()")
        after = page.value("document.activeElement.outerHTML")
        expect(page.value(f"document.activeElement.matches({json.dumps(where)})") and after == before,
               f"the focus goes from {before[:80]} to {after[:80]}")


def check_keyboard(page):
    """What can have the focus comes and goes with the job: meanwhile nothing is drawn anew."""
    page.value("drawingAll = drawAll, drawAll = async () => {}, looking")
    page.until("!due.size")
    tab_through(page)
    page.value("drawAll = drawingAll, 0")


def tab_through(page):
    page.value("scrollTo(0, 0), document.activeElement.blur()")
    n = page.value(FOCUS)[1]
    for i in range(n):
        page.press("Tab")
        at, _, is_seen = page.value(FOCUS)
        expect(at == i, f"the {i + 1}th Tab goes to {at + 1} of {n}")
        expect(is_seen, f"the focus is not seen at {i + 1}: {page.value('document.activeElement.outerHTML')[:80]}")
        if at != i:
            return


def check_speed(browser, address, long_metrics):
    """A curve of 100 000 points grows: what the script of a frame takes."""
    page = browser.open(address, 1440, 900)
    page.until(DRAWN.format(looks=0))
    page.value("updateTimes.length = 0")
    with open(long_metrics) as file:
        line = json.loads(file.readlines()[-1])
    for _ in range(4):
        with open(long_metrics, "a") as file:
            for _ in range(100):
                line["step"] += 1
                file.write(json.dumps(line) + "\n")
        page.value("lookNow()")
        page.until("!due.size")
    expect(page.value("runs[2].files.metrics.rows.length") == 100400, "the curve did not grow")
    times = page.value("updateTimes")
    median = statistics.median(times)
    print(f"a chart of 100 000 points is updated in {median:.1f} ms, at most {max(times):.1f} ms, of {len(times)}")
    expect(min(times) < 16, "that is longer than a frame has, however quiet the machine")
    return page.errors()


def main(address, folder, long_metrics, pictures):
    with Browser(folder) as browser:
        page = browser.open(address, 1440, 900)
        page.until(DRAWN.format(looks=1))
        check_live(page)
        check_words(page)
        check_other_run(page)
        check_old_run(page)
        page.value("byId('run').value = '0', byId('run').onchange()")
        check_sizes(page)
        page.size(1440, 900)
        page.picture(f"{pictures}/dark.png")
        page.scheme(False)
        check_keyboard(page)
        check_focus(page)
        page.value("lookNow()")
        page.until("!due.size")
        page.picture(f"{pictures}/light.png")
        wrong.extend(page.errors())
        wrong.extend(check_speed(browser, address, long_metrics))
    for what in wrong:
        print(what)
    return 1 if wrong else 0


sys.exit(main(*sys.argv[1:]))
