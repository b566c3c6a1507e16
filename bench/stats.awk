# What the scripts here share: numbers kept as at[name, 1 .. n[name]], their list and their median.

function keep(name, x) {
    at[name, ++n[name]] = x
}

function forget(name) {
    n[name] = 0
}

function list(name, digits,    i, text) {
    for (i = 1; i <= n[name]; i++)
        text = text (i > 1 ? ", " : "") sprintf("%.*f", digits, at[name, i])
    return "[" text "]"
}

function median(name,    v, i, j, t) {
    for (i = 1; i <= n[name]; i++) {
        t = at[name, i]
        for (j = i; j > 1 && v[j - 1] > t; j--)
            v[j] = v[j - 1]
        v[j] = t
    }
    i = n[name]
    return i % 2 ? v[(i + 1) / 2] : (v[i / 2] + v[i / 2 + 1]) / 2
}
