/* The configuration of one run, or in what it differs from another one's. */

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
