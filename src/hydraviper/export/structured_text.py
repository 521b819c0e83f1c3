"""Trees as IEC 61131-3 Structured Text: one function block per agent, for programmable logic controllers."""

from collections.abc import Sequence

from hydraviper.export.common import Arithmetic, Program, conditions, decimal, heading, nested, one_line, programs
from hydraviper.trees.file import TreesFile

# IEC 61131-3, third edition: keywords, standard types, functions and blocks, instructions of instruction lists and
# qualifiers of actions; among them what CODESYS keeps for itself; at the end our own names.
_WORDS = (
    "abs abstract acos action add adr and and_then andn any any_bit any_char any_chars any_date any_derived "
    "any_duration any_elementary any_int any_magnitude any_num any_real any_signed any_string any_unsigned array asin "
    "at atan atan2 bit bool by byte cal calc calcn case char class concat configuration constant continue cos ctd ctu "
    "ctud d date date_and_time delete derivative dint div do ds dt dword else elsif en end_action end_case end_class "
    "end_configuration end_for end_function end_function_block end_if end_interface end_method end_namespace "
    "end_program end_property end_repeat end_resource end_step end_struct end_transition end_type end_union end_var "
    "end_while eno eq exit exp expt extends f_edge f_trig false final find for from function function_block ge gt if "
    "implements in initial_step insert int integral interface internal interval jmp jmpc jmpcn l ld ldate "
    "ldate_and_time ldn ldt le left len limit lint ln log lreal lreal_to_real lt ltime ltime_of_day ltod lword max "
    "method mid min mod move mul mux n namespace ne non_retain not null of on or or_else orn overlap override p p0 p1 "
    "persistent pid pointer priority private program property protected public r r_edge r_trig read_only read_write "
    "real real_to_lreal ref ref_to reference repeat replace resource ret retain retc retcn return right rol ror rs "
    "rtc s sd sel sema shl shr sin single sint sizeof sl sqrt sr st step stn string struct sub super t tan task then "
    "this time time_of_day to tod tof ton tp transition true trunc type udint uint ulint union until using usint var "
    "var_access var_config var_external var_global var_in_out var_input var_inst var_output var_stat var_temp wchar "
    "while with word wstring xor xorn "
    "choice hv_distance"
)
KEYWORDS = frozenset(_WORDS.split())

_ARITHMETIC = Arithmetic(
    assign="{target} := {value};",
    single="{value}",
    size="ABS({x})",
    distance="hv_distance({x}, {y})",
    number="REAL#{value}",
    replace="IF {value} {comparison} {target} THEN {target} := {value}; END_IF;",
)
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
    return "\n\n".join(parts_of(trees, programs(trees, KEYWORDS, every_input=True))) + "\n"


def parts_of(trees: TreesFile, agents: Sequence[Program]) -> list[str]:
    """The parts of a file: its heading, what the trees need, and the trees' blocks."""
    parts = ["\n".join(f"(* {comment(line)} *)" for line in heading(trees))]
    if any(program.has_distances() for program in agents):
        parts.append(_DISTANCE)
    return [*parts, *(function_block(program) for program in agents)]


def function_block(program: Program) -> str:
    """One agent's tree as a function block."""
    agent, tree, words, identifiers = program.agent, program.tree, conditions(program), program.names

    def question(node: int) -> str:
        # typed: a bare literal may be LREAL, whose value is not the threshold's
        test = f"{identifiers[int(tree.feature[node])]} <= REAL#{decimal(float(tree.threshold[node])).upper()}"
        return f"IF {test} THEN (* node {node}: {comment(words[node])} *)"

    def answer(node: int) -> str:
        return f"choice := {tree.action[node]}; (* node {node}: {comment(words[node])} *)"

    lines = [f"(* {comment(agent.name)} *)", f"FUNCTION_BLOCK {program.name}", "VAR_INPUT"]
    lines += [f"    {word} : REAL; (* {comment(agent.features[n])} *)" for n, word in program.inputs.items()]
    lines += ["END_VAR", "VAR_OUTPUT", "    choice : INT;"]
    lines += [f"    (* {k} = {comment(action)} *)" for k, action in enumerate(agent.actions)]
    lines.append("END_VAR")
    if program.derived:
        declared = (f"    {word} : REAL; (* {comment(feature.name)} *)" for word, feature in program.computed())
        pile = (f"    {word} : REAL;" for word in program.pile())
        lines += ["VAR", *declared, *pile, "END_VAR"]
    for word, feature in program.computed():
        lines += ["    " + line for line in _ARITHMETIC.steps(word, feature, program.inputs)]
    lines += nested(tree, question, "ELSE", "END_IF;", answer)
    return "\n".join([*lines, "END_FUNCTION_BLOCK"])


def comment(text: str) -> str:
    """A text that may stand inside a comment."""
    return one_line(text).replace("(*", "( *").replace("*)", "* )")
