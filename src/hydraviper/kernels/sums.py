"""Sums in a fixed order of operations, so that no batch, thread, BLAS or processor can change a last bit.

Products are added with one rounding by `fused`: leaving it to the compiler would round once or twice, depending on what
the processor has. The others work on whole vectors of LANES numbers, one output per lane; each is a function that
writes LLVM code for its arguments, and a call inside a kernel becomes that code.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import wraps
from typing import TYPE_CHECKING, Protocol

import numba as nb
from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.extending import intrinsic

if TYPE_CHECKING:
    from numba.core.base import BaseContext
    from numba.core.typing.templates import Signature

LANES = 16  # numbers of a vector

_FLOATS = ir.VectorType(ir.FloatType(), LANES)
_PLACE = ir.IntType(64)


class Builder(Protocol):
    """LLVM's builder of code: each of its methods adds an instruction and returns that one's value."""

    module: ir.Module

    def __getattr__(self, name: str) -> Callable[..., ir.Value]: ...


class Array(Protocol):
    """An array's pointer and shape, as LLVM values."""

    data: ir.Value
    shape: ir.Value


def _fused(typing: object, a: types.Type, b: types.Type, c: types.Type):
    """a * b + c of three numbers of one type, rounded once."""
    del typing

    def generate(context: BaseContext, builder: Builder, signature: Signature, arguments: Sequence[ir.Value]):
        del context, signature
        return builder.fma(*arguments)

    return a(a, b, c), generate


fused: Callable[..., float] = intrinsic(_fused)


def _instruction(emit: Callable[..., None]) -> Callable[..., None]:
    """A function for kernels that returns nothing, by one that writes its code: emit(builder, *arguments)."""

    @wraps(emit)  # numba asks for the names of the arguments
    def typed(typing: object, *kinds: types.Type):
        del typing

        def generate(context: BaseContext, builder: Builder, signature: Signature, arguments: Sequence[ir.Value]):
            emit(builder, *_arrays(context, builder, signature, arguments))
            return context.get_dummy_value()

        return types.void(*kinds), generate

    return intrinsic(typed)


def _arrays(context: BaseContext, builder: Builder, signature: Signature, arguments: Sequence[ir.Value]):
    """The arguments of an intrinsic, arrays as records of their pointer and shape."""
    return [
        cgutils.create_struct_proxy(kind)(context, builder, value) if isinstance(kind, types.Array) else value
        for kind, value in zip(signature.args, arguments, strict=True)
    ]


def _vector_at(builder: Builder, array: Array, *places: ir.Value) -> ir.Value:
    """Where the LANES numbers of an array lie that begin at the sum of some places."""
    start = array.data
    for place in places:
        start = builder.gep(start, [place])
    return builder.bitcast(start, _FLOATS.as_pointer())


def _fuse(builder: Builder) -> ir.Function:
    """a * b + c of vectors, rounded once."""
    kind = ir.FunctionType(_FLOATS, [_FLOATS] * 3)
    return builder.module.declare_intrinsic(f"llvm.fma.v{LANES}f32", (), kind)


def _in_every_lane(builder: Builder, number: ir.Value) -> ir.Value:
    """A vector of one number."""
    empty, first = ir.Constant(_FLOATS, ir.Undefined), ir.Constant(ir.IntType(32), 0)
    return builder.shuffle_vector(builder.insert_element(empty, number, first), empty, _lanes([0] * LANES))


def _lanes(numbers: list[int]) -> ir.Constant:
    return ir.Constant(ir.VectorType(ir.IntType(32), LANES), numbers)


def _add_rows_to(vectors: int, fusing: bool = True) -> Callable[..., None]:
    """An instruction (out, first, rows, index, scale, count) that keeps `vectors` x LANES sums in registers.

    out[first:] += scale[n] * rows[index[n], first:] for n = 0, 1, ...: numba has no way to tell the compiler that `out`
    overlaps none of the rows, so a loop in Python would check that, and store its sums, again and again.
    """

    @_instruction
    def add(
        builder: Builder, out: Array, first: ir.Value, rows: Array, index: Array, scale: Array, count: ir.Value
    ) -> None:
        fuse = _fuse(builder)
        sums = [cgutils.alloca_once(builder, _FLOATS) for _ in range(vectors)]
        places = [ir.Constant(_PLACE, k * LANES) for k in range(vectors)]
        width = builder.extract_value(rows.shape, 1)
        for place, held in zip(places, sums, strict=True):
            builder.store(builder.load(_vector_at(builder, out, first, place), align=4), held)
        with cgutils.for_range(builder, count) as loop:
            row = builder.mul(builder.load(builder.gep(index.data, [loop.index])), width)
            factors = _in_every_lane(builder, builder.load(builder.gep(scale.data, [loop.index])))
            for place, held in zip(places, sums, strict=True):
                values, before = builder.load(_vector_at(builder, rows, row, first, place), align=4), builder.load(held)
                if fusing:
                    after = builder.call(fuse, [factors, values, before])
                else:
                    after = builder.fadd(before, builder.fmul(factors, values))
                builder.store(after, held)
        for place, held in zip(places, sums, strict=True):
            builder.store(builder.load(held), _vector_at(builder, out, first, place), align=4)

    return add


_add_to_one, _add_to_four = _add_rows_to(1), _add_rows_to(4)
add_products = _add_rows_to(1, fusing=False)  # for one vector, and each product is rounded, too


@_instruction
def added(
    builder: Builder, out: Array, first: ir.Value, left: Array, start: ir.Value, right: Array, place: ir.Value
) -> None:
    """out[first:] = left[start:] + right[place:], for LANES numbers."""
    one = builder.load(_vector_at(builder, left, start), align=4)
    other = builder.load(_vector_at(builder, right, place), align=4)
    builder.store(builder.fadd(one, other), _vector_at(builder, out, first), align=4)


@_instruction
def tile(
    builder: Builder, out: Array, first: ir.Value, stride: ir.Value,
    factors: Array, start: ir.Value, along: ir.Value, across: ir.Value, rows: Array, index: Array, count: ir.Value,
) -> None:  # fmt: skip
    """A square of LANES x LANES sums, in registers: LANES rows of `out` from `first` on, `stride` apart.

    Row i gets factors[start + r * along + i * across] * rows[r] for r = index[0], index[1], ..., in this order. `out`
    and `factors` are flat; a row of `rows` has LANES numbers.
    """
    fuse = _fuse(builder)
    sums = [cgutils.alloca_once(builder, _FLOATS) for _ in range(LANES)]
    places = [builder.mul(stride, ir.Constant(_PLACE, i)) for i in range(LANES)]
    steps = [builder.mul(across, ir.Constant(_PLACE, i)) for i in range(LANES)]
    for place, held in zip(places, sums, strict=True):
        builder.store(builder.load(_vector_at(builder, out, first, place), align=4), held)
    with cgutils.for_range(builder, count) as loop:
        row = builder.load(builder.gep(index.data, [loop.index]))
        values = builder.load(_vector_at(builder, rows, builder.mul(row, ir.Constant(_PLACE, LANES))), align=4)
        own = builder.gep(factors.data, [builder.add(start, builder.mul(row, along))])
        for step, held in zip(steps, sums, strict=True):
            factor = _in_every_lane(builder, builder.load(builder.gep(own, [step])))
            builder.store(builder.call(fuse, [factor, values, builder.load(held)]), held)
    for place, held in zip(places, sums, strict=True):
        builder.store(builder.load(held), _vector_at(builder, out, first, place), align=4)


@_instruction
def turned(
    builder: Builder, out: Array, first: ir.Value, stride: ir.Value, source: Array, start: ir.Value, step: ir.Value
) -> None:
    """A square of LANES x LANES numbers with rows and columns exchanged; rows are `stride` and `step` apart."""
    numbers = [ir.Constant(_PLACE, i) for i in range(LANES)]
    square = [
        builder.load(_vector_at(builder, source, start, builder.mul(step, number)), align=4) for number in numbers
    ]
    half = LANES // 2
    while half:  # exchange the upper right and the lower left quarter, then the same within each quarter
        upper = [lane if not lane & half else LANES + lane - half for lane in range(LANES)]
        lower = [lane + half if not lane & half else LANES + lane for lane in range(LANES)]
        for i in range(LANES):
            if not i & half:
                one, other = square[i], square[i + half]
                square[i] = builder.shuffle_vector(one, other, _lanes(upper))
                square[i + half] = builder.shuffle_vector(one, other, _lanes(lower))
        half //= 2
    for number, row in zip(numbers, square, strict=True):
        builder.store(row, _vector_at(builder, out, first, builder.mul(stride, number)), align=4)


@_instruction
def relu_sums(
    builder: Builder, out: Array, first: ir.Value, rows: Array, weights: Array, start: ir.Value, count: ir.Value
) -> None:
    """out[first:] += weights[start + n] * ReLU(rows[n]) for n = 0, 1, ...; `rows` is flat, LANES numbers each."""
    fuse, held = _fuse(builder), cgutils.alloca_once(builder, _FLOATS)
    nothing = ir.Constant(_FLOATS, [0.0] * LANES)
    builder.store(builder.load(_vector_at(builder, out, first), align=4), held)
    with cgutils.for_range(builder, count) as loop:
        row = builder.mul(loop.index, ir.Constant(_PLACE, LANES))
        values = builder.load(_vector_at(builder, rows, row), align=4)
        values = builder.select(builder.fcmp_ordered("<=", values, nothing), nothing, values)
        weight = _in_every_lane(builder, builder.load(builder.gep(weights.data, [builder.add(start, loop.index)])))
        builder.store(builder.call(fuse, [values, weight, builder.load(held)]), held)
    builder.store(builder.load(held), _vector_at(builder, out, first), align=4)


@_instruction
def widened(
    builder: Builder, low: Array, high: Array, first: ir.Value,
    rows: Array, start: ir.Value, stride: ir.Value, count: ir.Value,
) -> None:  # fmt: skip
    """Add the least and the largest of `count` rows to low[first:] and high[first:], for LANES numbers."""
    least, largest = cgutils.alloca_once(builder, _FLOATS), cgutils.alloca_once(builder, _FLOATS)
    for held in (least, largest):
        builder.store(builder.load(_vector_at(builder, rows, start), align=4), held)
    with cgutils.for_range(builder, count) as loop:
        row = builder.load(_vector_at(builder, rows, start, builder.mul(stride, loop.index)), align=4)
        for held, sign in ((least, "<"), (largest, ">")):
            before = builder.load(held)
            builder.store(builder.select(builder.fcmp_ordered(sign, row, before), row, before), held)
    for sums, held in ((low, least), (high, largest)):
        place = _vector_at(builder, sums, first)
        builder.store(builder.fadd(builder.load(place, align=4), builder.load(held)), place, align=4)


@_instruction
def widened_by(
    builder: Builder, low: Array, high: Array, first: ir.Value,
    rows: Array, index: Array, reach: Array, count: ir.Value,
) -> None:  # fmt: skip
    """Add to low[first:] and high[first:] the least and the most of rows[index[n]] times 0 to reach[n]."""
    nothing, width = ir.Constant(_FLOATS, [0.0] * LANES), builder.extract_value(rows.shape, 1)
    sides = [(sums, cgutils.alloca_once(builder, _FLOATS), sign) for sums, sign in ((low, "<"), (high, ">"))]
    for sums, held, _ in sides:
        builder.store(builder.load(_vector_at(builder, sums, first), align=4), held)
    with cgutils.for_range(builder, count) as loop:
        place = builder.mul(builder.load(builder.gep(index.data, [loop.index])), width)
        row = builder.load(_vector_at(builder, rows, place, first), align=4)
        most = _in_every_lane(builder, builder.load(builder.gep(reach.data, [loop.index])))
        for _, held, sign in sides:
            part = builder.select(builder.fcmp_ordered(sign, row, nothing), row, nothing)
            builder.store(builder.fadd(builder.load(held), builder.fmul(part, most)), held)
    for sums, held, _ in sides:
        builder.store(builder.load(held), _vector_at(builder, sums, first), align=4)


@nb.njit(cache=True, nogil=True)
def add_rows(out, rows, index, scale, count):
    """Add scale[n] * rows[index[n]] to out for n = 0, 1, ..., count - 1, in this order, each rounded once."""
    j, size = 0, out.shape[0]
    while j + 4 * LANES <= size:
        _add_to_four(out, j, rows, index, scale, count)
        j += 4 * LANES
    while j + LANES <= size:
        _add_to_one(out, j, rows, index, scale, count)
        j += LANES
    for rest in range(j, size):
        value = out[rest]
        for n in range(count):
            value = fused(scale[n], rows[index[n], rest], value)
        out[rest] = value
