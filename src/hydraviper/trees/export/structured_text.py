"""Trees as IEC 61131-3 Structured Text: one function block per agent, for programmable logic controllers."""

from __future__ import annotations

from hydraviper.trees.export.common import Arithmetic, Program, conditions, decimal, heading, nested, one_line, programs
from hydraviper.trees.file import TreesFile

_WORDS = (
    "abs acos action add and any any_bit any_date any_int any_num any_real array asin at atan bool by byte cal case "
    "concat configuration constant continue cos ctd ctu ctud date date_and_time delete derivative dint div do dt dword "
    "else elsif end_action end_case end_configuration end_for end_function end_function_block end_if end_program "
    "end_repeat end_resource end_step end_struct end_transition end_type end_var end_while en eno eq exit exp expt "
    "extends f_edge f_trig false find for from function function_block ge gt hv_distance if implements in initial_step "
    "insert int integral interface interval jmp ld ldn le left len limit lint ln log lreal lt lword max method mid min "
    "mod move mul mux n namespace ne not of on or overlap override pid pointer priority program private protected "
    "public r_edge r_trig read_only read_write real reference ref_to repeat replace resource ret retain return right "
    "rol ror rs rtc s sel sema shl shr sin single sint sqrt sr st step string struct sub super task tan then this time "
    "time_of_day to tod tof ton tp transition true trunc type udint uint ulint union until usint using var var_access "
    "var_config var_external var_global var_in_out var_input var_output var_temp while with word wstring xor choice"
)
KEYWORDS = frozenset(_WORDS.split())

_ARITHMETIC = Arithmetic("{target} := {value};", "{value}", "ABS({x})", "hv_distance({x}, {y})")
_DISTANCE = """\
FUNCTION hv_distance : REAL
VAR_INPUT
    dx : REAL;
    dy : REAL;
END_VAR
VAR
    wide_x : LREAL;
    wide_y : LREAL;
END_VAR
    wide_x := REAL_TO_LREAL(dx);
    wide_y := REAL_TO_LREAL(dy);
    hv_distance := LREAL_TO_REAL(SQRT(wide_x * wide_x + wide_y * wide_y));
END_FUNCTION"""


def to_structured_text(trees: TreesFile) -> str:
    """A function block per agent: its features go in as REAL, the number of the action comes out as `choice`."""
    made = programs(trees, KEYWORDS, every_input=True)
    parts = ["\n".join(f"(* {_comment(line)} *)" for line in heading(trees))]
    if any(program.has_distances() for program in made):
        parts.append(_DISTANCE)
    return "\n\n".join([*parts, *(_agent(program) for program in made)]) + "\n"


def _agent(program: Program) -> str:
    agent, tree, words, identifiers = program.agent, program.tree, conditions(program), program.names

    def question(node: int) -> str:
        # typed: a bare literal may be LREAL, whose value is not the threshold's
        test = f"{identifiers[int(tree.feature[node])]} <= REAL#{decimal(float(tree.threshold[node])).upper()}"
        return f"IF {test} THEN (* node {node}: {_comment(words[node])} *)"

    def answer(node: int) -> str:
        return f"choice := {tree.action[node]}; (* node {node}: {_comment(words[node])} *)"

    lines = [f"(* {_comment(agent.name)} *)", f"FUNCTION_BLOCK {program.name}", "VAR_INPUT"]
    lines += [f"    {word} : REAL; (* {_comment(agent.features[n])} *)" for n, word in program.inputs.items()]
    lines += ["END_VAR", "VAR_OUTPUT", "    choice : INT;"]
    lines += [f"    (* {k} = {_comment(action)} *)" for k, action in enumerate(agent.actions)]
    lines.append("END_VAR")
    if program.derived:
        declared = (f"    {word} : REAL; (* {_comment(feature.name)} *)" for word, feature in program.computed())
        lines += ["VAR", *declared, "END_VAR"]
    for word, feature in program.computed():
        lines += ["    " + line for line in _ARITHMETIC.steps(word, feature, program.inputs)]
    lines += nested(tree, question, "ELSE", "END_IF;", answer)
    return "\n".join([*lines, "END_FUNCTION_BLOCK"])


def _comment(text: str) -> str:
    return one_line(text).replace("(*", "( *").replace("*)", "* )")
