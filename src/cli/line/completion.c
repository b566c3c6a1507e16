/* Completion for bash: one case a subcommand, one a flag that takes a value. */
#include "cli/line/help.h"

static void bash_command(buf *ret, const command *c)
{
    buf_addf(ret, "    %s)\n        case \"$last\" in\n", c->name);
    for (size_t i = 0; i < c->n_flags; i++) {
        const flag *f = &c->flags[i];
        if (f->kind == FLAG_SWITCH || f->kind == FLAG_OPTION || f->kind == FLAG_PATH)
            continue;
        buf_addf(ret, "        --%s", f->name);
        if (f->letter)
            buf_addf(ret, "|-%c", f->letter);
        buf_adds(ret, ") COMPREPLY=(");
        if (f->kind == FLAG_CHOICE || f->kind == FLAG_ENUM) {
            buf_adds(ret, "$(compgen -W \"");
            for (const char *at = f->value; *at; at++)
                buf_add(ret, *at == '|' ? " " : at, 1);
            buf_adds(ret, "\" -- \"$word\")");
        }
        buf_adds(ret, "); return ;;\n");
    }
    buf_adds(ret, "        esac\n        flags=\"--help");
    for (size_t i = 0; i < c->n_flags; i++)
        buf_addf(ret, " --%s", c->flags[i].name);
    buf_adds(ret, "\" ;;\n");
}

void help_bash(const command_table *all, buf *ret)
{
    buf_adds(ret,
             "# bash completion for tequio; load with: source <(tequio help --bash)\n"
             "_tequio() {\n"
             "    local word=${COMP_WORDS[COMP_CWORD]} last=${COMP_WORDS[COMP_CWORD-1]} flags=\n"
             "    COMPREPLY=()\n"
             "    if [ \"$COMP_CWORD\" -eq 1 ]; then\n"
             "        COMPREPLY=($(compgen -W \"");
    for (size_t i = 0; i < all->n; i++)
        buf_addf(ret, "%s%s", i ? " " : "", all->at[i]->name);
    buf_adds(ret, "\" -- \"$word\"))\n        return\n    fi\n"
                  "    case \"${COMP_WORDS[1]}\" in\n");
    for (size_t i = 0; i < all->n; i++)
        bash_command(ret, all->at[i]);
    buf_adds(ret, "    esac\n"
                  "    case \"$word\" in\n"
                  "    -*) COMPREPLY=($(compgen -W \"$flags\" -- \"$word\")) ;;\n"
                  "    *) COMPREPLY=($(compgen -f -- \"$word\")) ;;\n"
                  "    esac\n"
                  "}\n"
                  "complete -o filenames -F _tequio tequio\n");
}
