"""Sums in a fixed order of operations, so that no batch, thread, BLAS or processor can change a last bit.

Products are added with one rounding by `fused`: leaving it to the compiler would round once or twice, depending on what
the processor has. `add_rows` and `added` work on whole vectors of LANES numbers, one output per lane.
"""

from typing import Any

import numba as nb
from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.extending import intrinsic

LANES = 16  # numbers of a vector

_FLOATS = ir.VectorType(ir.FloatType(), LANES)
_PLACE = ir.IntType(64)


def _fused(typing: Any, a: Any, b: Any, c: Any) -> Any:
    """a * b + c of three numbers of one type, rounded once."""
    del typing

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        del context, signature
        return builder.fma(*arguments)

    return a(a, b, c), generate


fused: Any = intrinsic(_fused)


def _arrays(context: Any, builder: Any, signature: Any, arguments: Any) -> list[Any]:
    """The arguments of an intrinsic, arrays as records of their pointer and shape."""
    return [
        cgutils.create_struct_proxy(kind)(context, builder, value) if isinstance(kind, types.Array) else value
        for kind, value in zip(signature.args, arguments, strict=True)
    ]


def _vector_at(builder: Any, array: Any, *places: Any) -> Any:
    """Where the LANES numbers of an array lie that begin at the sum of some places."""
    start = array.data
    for place in places:
        start = builder.gep(start, [place])
    return builder.bitcast(start, _FLOATS.as_pointer())


def _fuse(builder: Any) -> Any:
    """a * b + c of vectors, rounded once."""
    kind = ir.FunctionType(_FLOATS, [_FLOATS] * 3)
    return builder.module.declare_intrinsic(f"llvm.fma.v{LANES}f32", (), kind)


def _in_every_lane(builder: Any, number: Any) -> Any:
    """A vector of one number."""
    empty, first = ir.Constant(_FLOATS, ir.Undefined), ir.Constant(ir.IntType(32), 0)
    return builder.shuffle_vector(builder.insert_element(empty, number, first), empty, _lanes([0] * LANES))


def _add_rows_to(vectors: int, fusing: bool = True) -> Any:
    """An intrinsic (out, first, rows, index, scale, count) that keeps `vectors` x LANES sums in registers.

    out[first:] += scale[n] * rows[index[n], first:] for n = 0, 1, ...: numba has no way to tell the compiler that `out`
    overlaps none of the rows, so a loop in Python would check that, and store its sums, again and again.
    """

    def typed(typing: Any, out: Any, first: Any, rows: Any, index: Any, scale: Any, count: Any) -> Any:
        del typing

        def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
            _emit_sums(builder, vectors, fusing, *_arrays(context, builder, signature, arguments))
            return context.get_dummy_value()

        return types.void(out, first, rows, index, scale, count), generate

    return intrinsic(typed)


def _emit_sums(
    builder: Any, vectors: int, fusing: bool, out: Any, first: Any, rows: Any, index: Any, scale: Any, count: Any
) -> None:
    """The code of `_add_rows_to`: load the sums, add every row to them, store them."""
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


def _added(typing: Any, out: Any, first: Any, left: Any, start: Any, right: Any, place: Any) -> Any:
    """out[first:] = left[start:] + right[place:], for LANES numbers."""
    del typing

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        out, first, left, start, right, place = _arrays(context, builder, signature, arguments)
        one = builder.load(_vector_at(builder, left, start), align=4)
        other = builder.load(_vector_at(builder, right, place), align=4)
        builder.store(builder.fadd(one, other), _vector_at(builder, out, first), align=4)
        return context.get_dummy_value()

    return types.void(out, first, left, start, right, place), generate


added: Any = intrinsic(_added)


def _tile(typing: Any, out: Any, first: Any, stride: Any, factors: Any, start: Any, along: Any, across: Any,
          rows: Any, index: Any, count: Any) -> Any:  # fmt: skip
    """A square of LANES x LANES sums, in registers: LANES rows of `out` from `first` on, `stride` apart.

    Row i gets factors[start + r * along + i * across] * rows[r] for r = index[0], index[1], ..., in this order. `out`
    and `factors` are flat; a row of `rows` has LANES numbers.
    """
    del typing

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        _emit_tile(builder, *_arrays(context, builder, signature, arguments))
        return context.get_dummy_value()

    return types.void(out, first, stride, factors, start, along, across, rows, index, count), generate


def _emit_tile(
    builder: Any, out: Any, first: Any, stride: Any, factors: Any, start: Any, along: Any, across: Any,
    rows: Any, index: Any, count: Any,
) -> None:  # fmt: skip
    """The code of `tile`."""
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


def _turned(typing: Any, out: Any, first: Any, stride: Any, source: Any, start: Any, step: Any) -> Any:
    """A square of LANES x LANES numbers with rows and columns exchanged; rows are `stride` and `step` apart."""
    del typing

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        out, first, stride, source, start, step = _arrays(context, builder, signature, arguments)
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
        return context.get_dummy_value()

    return types.void(out, first, stride, source, start, step), generate


def _lanes(numbers: list[int]) -> Any:
    return ir.Constant(ir.VectorType(ir.IntType(32), LANES), numbers)


def _relu_sums(typing: Any, out: Any, first: Any, rows: Any, weights: Any, start: Any, count: Any) -> Any:
    """out[first:] += weights[start + n] * ReLU(rows[n]) for n = 0, 1, ...; `rows` is flat, LANES numbers each."""
    del typing

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        out, first, rows, weights, start, count = _arrays(context, builder, signature, arguments)
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
        return context.get_dummy_value()

    return types.void(out, first, rows, weights, start, count), generate


def _widened(typing: Any, low: Any, high: Any, first: Any, rows: Any, start: Any, stride: Any, count: Any) -> Any:
    """Add the least and the largest of `count` rows to low[first:] and high[first:], for LANES numbers."""
    del typing

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        low, high, first, rows, start, stride, count = _arrays(context, builder, signature, arguments)
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
        return context.get_dummy_value()

    return types.void(low, high, first, rows, start, stride, count), generate


def _widened_by(typing: Any, low: Any, high: Any, first: Any, rows: Any, index: Any, reach: Any, count: Any) -> Any:
    """Add to low[first:] and high[first:] the least and the most of rows[index[n]] times 0 to reach[n]."""
    del typing

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        low, high, first, rows, index, reach, count = _arrays(context, builder, signature, arguments)
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
        return context.get_dummy_value()

    return types.void(low, high, first, rows, index, reach, count), generate


widened_by: Any = intrinsic(_widened_by)
relu_sums: Any = intrinsic(_relu_sums)
widened: Any = intrinsic(_widened)
tile: Any = intrinsic(_tile)
turned: Any = intrinsic(_turned)
_add_to_one, _add_to_four = _add_rows_to(1), _add_rows_to(4)
add_products: Any = _add_rows_to(1, fusing=False)  # for one vector, and each product is rounded, too


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
