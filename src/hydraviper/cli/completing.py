"""`hydraviper completion`: a script that completes calls in bash, zsh or fish.

The script holds all words, so that no key press waits for Python; only the runs are looked up, in runs/.
"""

from collections.abc import Iterable, Mapping
from enum import StrEnum
from typing import Annotated

import typer

from hydraviper import outside
from hydraviper.cli.application import COMMANDS, Option, app, options_of
from hydraviper.cli.everywhere import CONFIG, EVERYWHERE
from hydraviper.cli.terminal import print_document
from hydraviper.experts.algorithms import ALGORITHMS
from hydraviper.experts.elsewhere import READERS
from hydraviper.export import FORMATS
from hydraviper.games import catalogue
from hydraviper.games.traffic_catalogue import MAPS
from hydraviper.settings import FEATURES, LEARNERS, PARTITIONS, SELECTIONS
from hydraviper.studies.catalogue import STUDIES
from hydraviper.variants import VARIANTS

Shell = StrEnum("Shell", "bash zsh fish")
# what may follow an option; a word that ends in ":" goes on
VALUES: Mapping[str, Iterable[str]] = {
    "--algorithm": VARIANTS,
    "--algorithms": VARIANTS,
    "--budget": ("low", "high"),
    "--expert": [f"{kind}:" for kind in READERS],
    "--features": FEATURES,
    "--format": ("text", "svg", "dot", "map", "queues"),
    "--learner": LEARNERS,
    "--partition": PARTITIONS,
    "--price": ("each", "all", "none"),
    "--selection": SELECTIONS,
    "--to": FORMATS,
    "--values": ("fitted", "policy", "none"),
}
_RUNS = "find -L runs -maxdepth 2 -name trees.json 2>/dev/null"


@app.command()
def completion(shell: Annotated[Shell, typer.Argument(metavar="SHELL", help="bash, zsh or fish.")]) -> None:
    """Print a script that completes calls in bash, zsh or fish: commands, options, games, runs, studies."""
    commands = options_of(COMMANDS)
    print_document({"bash": _bash, "zsh": _zsh, "fish": _fish}[shell](commands))


def games() -> list[str]:
    """Names of games, and beginnings of names."""
    families = [f"{name}:" for name in catalogue.FAMILIES if name != "resco"]
    return [*catalogue.GAMES, *outside.added(outside.GAMES), *(f"resco:{name}" for name in MAPS), *families]


def _subjects() -> dict[str, str]:
    """The words that can be a command's argument; runs are looked up instead."""
    named = {"GAME": games(), "NAME": STUDIES, "SHELL": Shell, "RUN": ()}
    return {what: " ".join(words) for what, words in named.items()}


def _following(command: str, option: str) -> Iterable[str]:
    return ALGORITHMS if (command, option) == ("train", "--algorithm") else VALUES.get(option, ())


# --------------------------------------------------------------------------- bash and zsh


def _words(commands: Mapping[str, Mapping[str, Option]]) -> str:
    """A function that prints what can stand at a place of a call: COMMAND, the word before, the word so far."""
    subjects, lines = {what: f'echo "{words}"' for what, words in _subjects().items()}, []
    subjects["RUN"] = f"{_RUNS} | sed 's|/trees.json$||'"
    for command, options in commands.items():
        subject = next((option.metavar for option in options.values() if option.metavar in subjects), None)
        for name, option in options.items():
            if name.startswith("--") and not option.is_flag:
                lines.append(f'    "{command} {name} "*) echo "{" ".join(_following(command, name))}" ;;')
        named = [name for name in options if name.startswith("--")]
        lines.append(f'    "{command} "*" -"*) echo "{" ".join([*named, CONFIG, *EVERYWHERE])}" ;;')
        lines.append(f'    "{command} "*) {subjects[subject] if subject else ":"} ;;')
    lines.append(f'    *) echo "{" ".join([*commands, "--help", "--version"])}" ;;')
    return '_hydraviper_words() {\n  case "$1 $2 $3" in\n' + "\n".join(lines) + "\n  esac\n}\n"


def _bash(commands: Mapping[str, Mapping[str, Option]]) -> str:
    return _words(commands) + _BASH


def _zsh(commands: Mapping[str, Mapping[str, Option]]) -> str:
    return "#compdef hydraviper\n" + _words(commands) + _ZSH


_BASH = """
_hydraviper() {
  local line="${COMP_LINE:0:COMP_POINT}" words word command="" before current
  read -ra words <<< "$line"
  case "$line" in *" ") words+=("") ;; esac
  current="${words[${#words[@]}-1]}"
  before="${words[${#words[@]}-2]}"
  for word in "${words[@]:1:${#words[@]}-2}"; do
    case "$word" in -*) ;; *) command="$word"; break ;; esac
  done
  COMPREPLY=($(compgen -W "$(_hydraviper_words "$command" "$before" "$current")" -- "$current"))
  # bash begins a new word behind a colon or an equal sign
  case "$current" in *[:=]*) COMPREPLY=("${COMPREPLY[@]#"${current%"${current##*[:=]}"}"}") ;; esac
  case "${COMPREPLY[*]}" in *:) compopt -o nospace 2>/dev/null ;; esac
}
complete -o default -F _hydraviper hydraviper
"""

_ZSH = """
_hydraviper() {
  local current="${words[CURRENT]}" before="${words[CURRENT-1]}" command="" word
  for word in "${(@)words[2,CURRENT-1]}"; do
    case "$word" in -*) ;; *) command="$word"; break ;; esac
  done
  local -a found
  found=(${=$(_hydraviper_words "$command" "$before" "$current")})
  compadd -S '' -- ${(M)found:#*:}
  compadd -- ${found:#*:}
  [[ -n "$command" && "$current" != -* ]] && _files
}
compdef _hydraviper hydraviper
"""


# --------------------------------------------------------------------------- fish


def _fish(commands: Mapping[str, Mapping[str, Option]]) -> str:
    """One line per command, argument and option."""
    subjects = _subjects() | {"RUN": f"({_RUNS} | string replace /trees.json '')"}
    lines = ["complete -c hydraviper -n __fish_use_subcommand -l version", "complete -c hydraviper -l help"]
    for command, options in commands.items():
        begin = f'complete -c hydraviper -n "__fish_seen_subcommand_from {command}"'
        about = COMMANDS[command][1].replace("'", r"\'")
        lines.append(f"complete -c hydraviper -f -n __fish_use_subcommand -a {command} -d '{about}'")
        for name, option in options.items():
            if not name.startswith("--"):
                lines += [f'{begin} -a "{subjects[option.metavar]}"'] if option.metavar in subjects else []
                continue
            words = " ".join(_following(command, name))
            takes = "" if option.is_flag else f" -xa '{words}'" if words else " -r"
            lines.append(f"{begin} -l {name[2:]}{takes}")
        lines += [f"{begin} -l {CONFIG[2:]} -r", *(f"{begin} -l {name[2:]}" for name in EVERYWHERE)]
    return "\n".join(lines) + "\n"
