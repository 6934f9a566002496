"""
The compiled core of kernelight. Private: call the Python names that wrap it.
"""

from typing import Annotated, overload

import numpy
from numpy.typing import NDArray


def best_simd_level() -> int:
    """
    The best instruction set of this machine: 0 baseline, 1 avx2, 2 avx512.
    """

class WeightedRows:
    """Rows of a matrix, and the rule that turns their values into weights."""

    def __init__(self, values: Annotated[NDArray, dict(order='C', device='cpu', writable=False)], indices: Annotated[NDArray, dict(order='C', device='cpu', writable=False)] | None, indptr: Annotated[NDArray, dict(order='C', device='cpu', writable=False)] | None, n_cols: int, center: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)] | None, l1: bool) -> None: ...

class CwsListing:
    """The nonzeros of every block of rows, by coordinate."""

    def __init__(self, row_block: int, starts: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)], coordinate: Annotated[NDArray[numpy.int32], dict(shape=(None,), order='C', device='cpu')], row: Annotated[NDArray[numpy.int32], dict(shape=(None,), order='C', device='cpu')], log_value: Annotated[NDArray[numpy.float32], dict(shape=(None,), order='C', device='cpu')]) -> None: ...

class CwsTables:
    """Cells of the coordinates ids; where[coordinate] is the table row."""

    def __init__(self, cells: Annotated[NDArray[numpy.float32], dict(shape=(None, None), order='C', device='cpu')], ids: Annotated[NDArray[numpy.uint64], dict(shape=(None,), order='C', device='cpu', writable=False)], where: Annotated[NDArray[numpy.int32], dict(shape=(None,), order='C', device='cpu', writable=False)]) -> None: ...

class CwsCoding:
    """How the sample (i*, t*) of a slot becomes a code."""

    def __init__(self, seed: int, bits: int, t_mask: int, lowest: bool) -> None: ...

def cws_survey(rows: WeightedRows, counts: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu')], used: Annotated[NDArray[numpy.uint8], dict(shape=(None,), order='C', device='cpu')] | None, threads: int) -> None:
    """Nonzero weights of every row, and which expanded coordinates occur."""

def cws_list(rows: WeightedRows, p: float, listing: CwsListing, threads: int, simd: int) -> None:
    """
    Fill a listing: the nonzeros of every block of rows, ascending by coordinate, with p times their logarithm.
    """

def cws_fill(cells: Annotated[NDArray[numpy.float32], dict(shape=(None, None), order='C', device='cpu')], ids: Annotated[NDArray[numpy.uint64], dict(shape=(None,), order='C', device='cpu', writable=False)], begin: int, end: int, seed: int, first_slot: int, n_slots: int, threads: int, simd: int) -> None:
    """Draw the cells of ids[begin:end]."""

@overload
def cws_scan(listing: CwsListing, tables: CwsTables, coding: CwsCoding, first_slot: int, n_slots: int, column: int, out: Annotated[NDArray[numpy.uint8], dict(shape=(None, None), order='C', device='cpu')], winners: Annotated[NDArray[numpy.int64], dict(shape=(None, None), order='C', device='cpu')] | None, threads: int, simd: int) -> None: ...

@overload
def cws_scan(listing: CwsListing, tables: CwsTables, coding: CwsCoding, first_slot: int, n_slots: int, column: int, out: Annotated[NDArray[numpy.uint16], dict(shape=(None, None), order='C', device='cpu')], winners: Annotated[NDArray[numpy.int64], dict(shape=(None, None), order='C', device='cpu')] | None, threads: int, simd: int) -> None: ...

@overload
def cws_scan(listing: CwsListing, tables: CwsTables, coding: CwsCoding, first_slot: int, n_slots: int, column: int, out: Annotated[NDArray[numpy.uint64], dict(shape=(None, None), order='C', device='cpu')], winners: Annotated[NDArray[numpy.int64], dict(shape=(None, None), order='C', device='cpu')] | None, threads: int, simd: int) -> None:
    """
    Codes of slots first_slot .. first_slot + n_slots of all listed rows, from a column on, and the feature that won each slot, from column first_slot of winners on; empty rows are left as they are.
    """

class CwsLists:
    """The darts of every slot, the likeliest first."""

    def __init__(self, groups: Annotated[NDArray[numpy.uint64], dict(shape=(None, None), order='C', device='cpu')], starts: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)], limits: Annotated[NDArray[numpy.float32], dict(shape=(None,), order='C', device='cpu', writable=False)]) -> None: ...

def cws_largest(rows: WeightedRows, p: float, where: Annotated[NDArray[numpy.int32], dict(shape=(None,), order='C', device='cpu', writable=False)], largest: Annotated[NDArray[numpy.float32], dict(shape=(None,), order='C', device='cpu')], simd: int) -> float:
    """
    Raise largest to the logarithms of the weights of all rows; returns the sum of weights.
    """

def cws_rank(tables: CwsTables, coding: CwsCoding, most_a: float, lists: CwsLists, threads: int) -> None:
    """Write the lists of the first slots of the tables, up to most_a."""

@overload
def cws_encode_lists(rows: WeightedRows, p: float, lists: CwsLists, tables: CwsTables, coding: CwsCoding, first_slot: int, n_slots: int, column: int, out: Annotated[NDArray[numpy.uint8], dict(shape=(None, None), order='C', device='cpu')], threads: int, simd: int) -> tuple[int, int, int, int]: ...

@overload
def cws_encode_lists(rows: WeightedRows, p: float, lists: CwsLists, tables: CwsTables, coding: CwsCoding, first_slot: int, n_slots: int, column: int, out: Annotated[NDArray[numpy.uint16], dict(shape=(None, None), order='C', device='cpu')], threads: int, simd: int) -> tuple[int, int, int, int]: ...

@overload
def cws_encode_lists(rows: WeightedRows, p: float, lists: CwsLists, tables: CwsTables, coding: CwsCoding, first_slot: int, n_slots: int, column: int, out: Annotated[NDArray[numpy.uint64], dict(shape=(None, None), order='C', device='cpu')], threads: int, simd: int) -> tuple[int, int, int, int]:
    """
    The same codes as cws_scan by lists; what it took: steps, groups of rows, rows that were scanned, slot blocks that were. The tables must have every coordinate.
    """

@overload
def cws_encode_few(rows: WeightedRows, p: float, tables: CwsTables, coding: CwsCoding, out: Annotated[NDArray[numpy.uint8], dict(shape=(None, None), order='C', device='cpu')], empty: Annotated[NDArray[numpy.bool_], dict(shape=(None,), order='C', device='cpu')], simd: int) -> bool: ...

@overload
def cws_encode_few(rows: WeightedRows, p: float, tables: CwsTables, coding: CwsCoding, out: Annotated[NDArray[numpy.uint16], dict(shape=(None, None), order='C', device='cpu')], empty: Annotated[NDArray[numpy.bool_], dict(shape=(None,), order='C', device='cpu')], simd: int) -> bool:
    """
    Codes of a few rows, listed and scanned on one thread; whether the tables have every coordinate, without which nothing counts.
    """

@overload
def cws_stream(rows: WeightedRows, p: float, ids: Annotated[NDArray[numpy.uint64], dict(shape=(None,), order='C', device='cpu', writable=False)] | None, coding: CwsCoding, first_slot: int, n_slots: int, column: int, out: Annotated[NDArray[numpy.uint8], dict(shape=(None, None), order='C', device='cpu')], winners: Annotated[NDArray[numpy.int64], dict(shape=(None, None), order='C', device='cpu')] | None, threads: int, simd: int) -> None: ...

@overload
def cws_stream(rows: WeightedRows, p: float, ids: Annotated[NDArray[numpy.uint64], dict(shape=(None,), order='C', device='cpu', writable=False)] | None, coding: CwsCoding, first_slot: int, n_slots: int, column: int, out: Annotated[NDArray[numpy.uint16], dict(shape=(None, None), order='C', device='cpu')], winners: Annotated[NDArray[numpy.int64], dict(shape=(None, None), order='C', device='cpu')] | None, threads: int, simd: int) -> None: ...

@overload
def cws_stream(rows: WeightedRows, p: float, ids: Annotated[NDArray[numpy.uint64], dict(shape=(None,), order='C', device='cpu', writable=False)] | None, coding: CwsCoding, first_slot: int, n_slots: int, column: int, out: Annotated[NDArray[numpy.uint64], dict(shape=(None, None), order='C', device='cpu')], winners: Annotated[NDArray[numpy.int64], dict(shape=(None, None), order='C', device='cpu')] | None, threads: int, simd: int) -> None:
    """
    The same without listing and tables, for rows or widths that would not fit.
    """

@overload
def cws_encode_bounds(rows: WeightedRows, p: float, ids: Annotated[NDArray[numpy.uint64], dict(shape=(None,), order='C', device='cpu', writable=False)] | None, listing: CwsListing, reach: float, coding: CwsCoding, first_slot: int, n_slots: int, column: int, out: Annotated[NDArray[numpy.uint8], dict(shape=(None, None), order='C', device='cpu')], winners: Annotated[NDArray[numpy.int64], dict(shape=(None, None), order='C', device='cpu')] | None, threads: int, simd: int) -> int: ...

@overload
def cws_encode_bounds(rows: WeightedRows, p: float, ids: Annotated[NDArray[numpy.uint64], dict(shape=(None,), order='C', device='cpu', writable=False)] | None, listing: CwsListing, reach: float, coding: CwsCoding, first_slot: int, n_slots: int, column: int, out: Annotated[NDArray[numpy.uint16], dict(shape=(None, None), order='C', device='cpu')], winners: Annotated[NDArray[numpy.int64], dict(shape=(None, None), order='C', device='cpu')] | None, threads: int, simd: int) -> int: ...

@overload
def cws_encode_bounds(rows: WeightedRows, p: float, ids: Annotated[NDArray[numpy.uint64], dict(shape=(None,), order='C', device='cpu', writable=False)] | None, listing: CwsListing, reach: float, coding: CwsCoding, first_slot: int, n_slots: int, column: int, out: Annotated[NDArray[numpy.uint64], dict(shape=(None, None), order='C', device='cpu')], winners: Annotated[NDArray[numpy.int64], dict(shape=(None, None), order='C', device='cpu')] | None, threads: int, simd: int) -> int:
    """
    The same codes as cws_scan from a listing, without tables; no logarithm is larger in size than reach. Returns how many codes were left to the definition.
    """

def cws_bounds(seed: int, coordinate: int, first_slot: int, log_value: float, reach: float, out: Annotated[NDArray[numpy.float32], dict(shape=(None,), order='C', device='cpu')], simd: int) -> None:
    """Bounds of the values a of one weight, as cws_encode_bounds takes them."""

SLOT_BLOCK: int = 32

CELL_BLOCK: int = 128

class DartTable:
    """The darts of one level, by weight or by rank; without limits, none."""

    def __init__(self, limits: Annotated[NDArray[numpy.float32], dict(shape=(None,), order='C', device='cpu', writable=False)] | None, by_rank: bool, starts: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)], records: Annotated[NDArray[numpy.uint64], dict(shape=(None, None), order='C', device='cpu', writable=False)], rank_limit: float) -> None: ...

def dart_sums(rows: WeightedRows, scale: float, sums: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu')], counts: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu')], threads: int) -> None:
    """Sum of the scaled weights, and number of nonzeros, of every row."""

def dart_maxima(rows: WeightedRows, scale: float, subset: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)], largest: Annotated[NDArray[numpy.float32], dict(shape=(None,), order='C', device='cpu')]) -> None:
    """Raise largest to the scaled weights of the rows of subset."""

def dart_count(seed: int, k: int, ids: Annotated[NDArray[numpy.uint64], dict(shape=(None,), order='C', device='cpu', writable=False)], limits: Annotated[NDArray[numpy.float32], dict(shape=(None,), order='C', device='cpu', writable=False)], rank_limit: float, counts: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu')], threads: int) -> None:
    """Darts of every coordinate below its limit and the rank limit."""

def dart_fill(seed: int, k: int, ids: Annotated[NDArray[numpy.uint64], dict(shape=(None,), order='C', device='cpu', writable=False)], limits: Annotated[NDArray[numpy.float32], dict(shape=(None,), order='C', device='cpu', writable=False)], rank_limit: float, starts: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)], records: Annotated[NDArray[numpy.uint64], dict(shape=(None, None), order='C', device='cpu')], threads: int) -> None:
    """List those darts, each coordinate's sorted by weight."""

def dart_slot_starts(k: int, by_weight: Annotated[NDArray[numpy.uint64], dict(shape=(None, None), order='C', device='cpu', writable=False)], slot_starts: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu')]) -> None:
    """Where the padded list of each slot starts in a table by rank."""

def dart_by_rank(k: int, starts: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)], by_weight: Annotated[NDArray[numpy.uint64], dict(shape=(None, None), order='C', device='cpu', writable=False)], slot_starts: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)], by_rank: Annotated[NDArray[numpy.uint64], dict(shape=(None, None), order='C', device='cpu')], threads: int) -> None:
    """The same darts, one list a slot, sorted by rank."""

@overload
def dart_encode(rows: WeightedRows, scale: float, seed: int, bits: int, ids: Annotated[NDArray[numpy.uint64], dict(shape=(None,), order='C', device='cpu', writable=False)] | None, table: DartTable, subset: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)], codes: Annotated[NDArray[numpy.uint8], dict(shape=(None, None), order='C', device='cpu')], winners: Annotated[NDArray[numpy.int64], dict(shape=(None, None), order='C', device='cpu')] | None, threads: int, simd: int) -> float: ...

@overload
def dart_encode(rows: WeightedRows, scale: float, seed: int, bits: int, ids: Annotated[NDArray[numpy.uint64], dict(shape=(None,), order='C', device='cpu', writable=False)] | None, table: DartTable, subset: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)], codes: Annotated[NDArray[numpy.uint16], dict(shape=(None, None), order='C', device='cpu')], winners: Annotated[NDArray[numpy.int64], dict(shape=(None, None), order='C', device='cpu')] | None, threads: int, simd: int) -> float: ...

@overload
def dart_encode(rows: WeightedRows, scale: float, seed: int, bits: int, ids: Annotated[NDArray[numpy.uint64], dict(shape=(None,), order='C', device='cpu', writable=False)] | None, table: DartTable, subset: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)], codes: Annotated[NDArray[numpy.uint64], dict(shape=(None, None), order='C', device='cpu')], winners: Annotated[NDArray[numpy.int64], dict(shape=(None, None), order='C', device='cpu')] | None, threads: int, simd: int) -> float:
    """
    Codes of the rows of subset, and the features that won their slots, from a table as far as it reaches; empty rows are left as they are.
    """

def text_pieces(length: int) -> int:
    """Into how many pieces a text of so many bytes is cut."""

def count_byte(text: Annotated[NDArray[numpy.uint8], dict(shape=(None,), order='C', device='cpu', writable=False)], byte: int) -> int:
    """How often a byte occurs in a text."""

def past_last(text: Annotated[NDArray[numpy.uint8], dict(shape=(None,), order='C', device='cpu', writable=False)], byte: int) -> int:
    """The place behind the last such byte of a text; 0 if there is none."""

def find_line(text: Annotated[NDArray[numpy.uint8], dict(shape=(None,), order='C', device='cpu', writable=False)], line: Annotated[NDArray[numpy.uint8], dict(shape=(None,), order='C', device='cpu', writable=False)], start: int, final: bool) -> int:
    """
    Where the first line from start on begins that is this one; -1 if there is none.
    """

def libsvm_layout(text: Annotated[NDArray[numpy.uint8], dict(shape=(None,), order='C', device='cpu', writable=False)], rows: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu')], entries: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu')], threads: int) -> None:
    """
    Bounds for the rows and the entries of a LIBSVM text before each of its pieces.
    """

@overload
def libsvm_parse(text: Annotated[NDArray[numpy.uint8], dict(shape=(None,), order='C', device='cpu', writable=False)], rows: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)], entries: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)], base: int, limit: int, labels: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu')], starts: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu')], indices: Annotated[NDArray[numpy.int32], dict(shape=(None,), order='C', device='cpu')], values: Annotated[NDArray[numpy.float32], dict(shape=(None,), order='C', device='cpu')], threads: int) -> tuple: ...

@overload
def libsvm_parse(text: Annotated[NDArray[numpy.uint8], dict(shape=(None,), order='C', device='cpu', writable=False)], rows: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)], entries: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)], base: int, limit: int, labels: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu')], starts: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu')], indices: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu')], values: Annotated[NDArray[numpy.float32], dict(shape=(None,), order='C', device='cpu')], threads: int) -> tuple: ...

@overload
def libsvm_parse(text: Annotated[NDArray[numpy.uint8], dict(shape=(None,), order='C', device='cpu', writable=False)], rows: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)], entries: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)], base: int, limit: int, labels: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu')], starts: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu')], indices: Annotated[NDArray[numpy.int32], dict(shape=(None,), order='C', device='cpu')], values: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu')], threads: int) -> tuple: ...

@overload
def libsvm_parse(text: Annotated[NDArray[numpy.uint8], dict(shape=(None,), order='C', device='cpu', writable=False)], rows: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)], entries: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)], base: int, limit: int, labels: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu')], starts: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu')], indices: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu')], values: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu')], threads: int) -> tuple:
    """
    Rows of a LIBSVM text into the front of the arrays; returns rows, entries, width, kind and place of the first error.
    """

def csv_layout(text: Annotated[NDArray[numpy.uint8], dict(shape=(None,), order='C', device='cpu', writable=False)], delimiter: int, final: bool, starts: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu')], rows: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu')], threads: int) -> int:
    """
    Where the pieces of a delimited text begin and how many rows are before each; returns where an unfinished row begins.
    """

def csv_rows(text: Annotated[NDArray[numpy.uint8], dict(shape=(None,), order='C', device='cpu', writable=False)], delimiter: int, final: bool, begins: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu')], ends: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu')]) -> int:
    """
    Where the rows of a delimited text begin and end; returns how many there are.
    """

@overload
def csv_parse(text: Annotated[NDArray[numpy.uint8], dict(shape=(None,), order='C', device='cpu', writable=False)], delimiter: int, missing: Annotated[NDArray[numpy.uint8], dict(shape=(None,), order='C', device='cpu', writable=False)], missing_ends: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)], n_anywhere: int, starts: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)], rows: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)], kinds: Annotated[NDArray[numpy.int8], dict(shape=(None,), order='C', device='cpu', writable=False)], slots: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)], features: Annotated[NDArray[numpy.float32], dict(shape=(None, None), order='C', device='cpu')], aside: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order='C', device='cpu')], word_starts: Annotated[NDArray[numpy.int64], dict(shape=(None, None), order='C', device='cpu')], word_lengths: Annotated[NDArray[numpy.int32], dict(shape=(None, None), order='C', device='cpu')], threads: int) -> tuple: ...

@overload
def csv_parse(text: Annotated[NDArray[numpy.uint8], dict(shape=(None,), order='C', device='cpu', writable=False)], delimiter: int, missing: Annotated[NDArray[numpy.uint8], dict(shape=(None,), order='C', device='cpu', writable=False)], missing_ends: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)], n_anywhere: int, starts: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)], rows: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)], kinds: Annotated[NDArray[numpy.int8], dict(shape=(None,), order='C', device='cpu', writable=False)], slots: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)], features: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order='C', device='cpu')], aside: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order='C', device='cpu')], word_starts: Annotated[NDArray[numpy.int64], dict(shape=(None, None), order='C', device='cpu')], word_lengths: Annotated[NDArray[numpy.int32], dict(shape=(None, None), order='C', device='cpu')], threads: int) -> tuple:
    """
    Rows of a delimited text into the arrays of their kinds; returns kind, place and column of the first error.
    """

def intern_words(text: Annotated[NDArray[numpy.uint8], dict(shape=(None,), order='C', device='cpu', writable=False)], starts: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)], lengths: Annotated[NDArray[numpy.int32], dict(shape=(None,), order='C', device='cpu', writable=False)], codes: Annotated[NDArray[numpy.int32], dict(shape=(None,), order='C', device='cpu')], firsts: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu')]) -> tuple:
    """
    Codes of words by first occurrence; returns how many there are, and the place of the first beyond firsts or -1.
    """

def leaders(earlier: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)], later: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)], similarities: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], kept: Annotated[NDArray[numpy.uint8], dict(shape=(None,), order='C', device='cpu')], survivor: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu')], similarity: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu')]) -> None:
    """
    Let rows go that have an earlier partner that stays, in the order of the rows.
    """

def poisson_counts(seed: int, gamma: float, counts: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu')]) -> None:
    """How many base samples each slot has."""

@overload
def fold_words(words: Annotated[NDArray[numpy.uint64], dict(shape=(None, None), order='C', device='cpu', writable=False)], starts: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)], empty: Annotated[NDArray[numpy.bool_], dict(shape=(None,), order='C', device='cpu', writable=False)], seed: int, first_slot: int, bits: int, codes: Annotated[NDArray[numpy.uint8], dict(shape=(None, None), order='C', device='cpu')], threads: int) -> None: ...

@overload
def fold_words(words: Annotated[NDArray[numpy.uint64], dict(shape=(None, None), order='C', device='cpu', writable=False)], starts: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)], empty: Annotated[NDArray[numpy.bool_], dict(shape=(None,), order='C', device='cpu', writable=False)], seed: int, first_slot: int, bits: int, codes: Annotated[NDArray[numpy.uint16], dict(shape=(None, None), order='C', device='cpu')], threads: int) -> None:
    """
    Codes of slots first_slot .. from the base words [starts[s], starts[s + 1]) of each; empty rows are left as they are.
    """

def child(key: int, n: int) -> int:
    """The n-th child of a key."""

def stream(seed: int, stream: int) -> int:
    """The key of a stream of a seed."""

def log(x: float) -> float:
    """The frozen logarithm of a positive finite double."""

def floor_float(y: float) -> float:
    """The frozen single-precision floor."""

def float_above(x: float) -> float:
    """The smallest float at or above a nonnegative double."""

def poisson1(bits: int) -> int:
    """The Poisson(1) quantile of 64 bits."""

def dart_rate(k: int) -> int:
    """Darts per unit area for k slots."""

def sqrt(x: float) -> float:
    """The frozen square root of a positive normal double."""

def normal(key: int, n: int) -> float:
    """The n-th standard normal of a key."""

def cauchy(word: int) -> float:
    """The Cauchy variable of a word."""

def chi(key: int, n: int) -> float:
    """The length of a normal vector of n dimensions."""

def sign(key: int, n: int) -> float:
    """The n-th random sign of a key."""

def circle_of(y: float) -> tuple[float, float]:
    """The frozen single-precision cosine and sine of y turns."""

def cws_cell(seed: int, slot: int, coordinate: int) -> tuple[float, float, float, float]:
    """1/r, beta, r, q of one cell."""

def cws_code(seed: int, slot: int, coordinate: int, t: int) -> int:
    """The 64 bits of one sample in one slot."""

def integer_factor(sigma: float, width: int) -> tuple[int, int, float]:
    """
    What the numbers of a row are multiplied by: multiplier, exponent, and multiplier * 2^exponent.
    """

def fill_integer_signs(seed: int, signs: Annotated[NDArray[numpy.uint16], dict(shape=(None, None), order='C', device='cpu')], threads: int) -> None:
    """Draw the signs of blocks, as masks."""

def fill_integer_phases(phases: Annotated[NDArray[numpy.uint16], dict(shape=(None,), order='C', device='cpu')]) -> None:
    """The phases of outputs, 2^16 to a turn."""

def integer_fourier(rows: ScaledRows, signs: Annotated[NDArray[numpy.uint16], dict(shape=(None, None), order='C', device='cpu', writable=False)], phases: Annotated[NDArray[numpy.uint16], dict(shape=(None,), order='C', device='cpu', writable=False)], out: Annotated[NDArray[numpy.int16], dict(shape=(None, None), order='C', device='cpu')], threads: int, simd: int) -> None:
    """Fourier features as whole numbers from -1024 to 1024."""

def integer_fourier_features(rows: ScaledRows, signs: Annotated[NDArray[numpy.uint16], dict(shape=(None, None), order='C', device='cpu', writable=False)], phases: Annotated[NDArray[numpy.uint16], dict(shape=(None,), order='C', device='cpu', writable=False)], amplitude: float, out: Annotated[NDArray[numpy.float32], dict(shape=(None, None), order='C', device='cpu')], threads: int, simd: int) -> None:
    """The same times an amplitude, as floats."""

@overload
def pair_sums_dense(x: Annotated[NDArray[numpy.float32], dict(shape=(None, None), order='C', device='cpu', writable=False)], y: Annotated[NDArray[numpy.float32], dict(shape=(None, None), order='C', device='cpu', writable=False)], out: Annotated[NDArray[numpy.float32], dict(shape=(None, None), order='C', device='cpu')], form: int, symmetric: bool, threads: int, simd: int) -> None: ...

@overload
def pair_sums_dense(x: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order='C', device='cpu', writable=False)], y: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order='C', device='cpu', writable=False)], out: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order='C', device='cpu')], form: int, symmetric: bool, threads: int, simd: int) -> None:
    """
    Fill out (n, m) with the form (0 minmax, 1 overlap, 2 chi2) of each pair of rows of x and y.
    """

@overload
def pair_sums_sparse(x_values: Annotated[NDArray[numpy.float32], dict(shape=(None,), order='C', device='cpu', writable=False)], x_indices: Annotated[NDArray[numpy.int32], dict(shape=(None,), order='C', device='cpu', writable=False)], x_indptr: Annotated[NDArray[numpy.int32], dict(shape=(None,), order='C', device='cpu', writable=False)], y_values: Annotated[NDArray[numpy.float32], dict(shape=(None,), order='C', device='cpu', writable=False)], y_rows: Annotated[NDArray[numpy.int32], dict(shape=(None,), order='C', device='cpu', writable=False)], y_indptr: Annotated[NDArray[numpy.int32], dict(shape=(None,), order='C', device='cpu', writable=False)], out: Annotated[NDArray[numpy.float32], dict(shape=(None, None), order='C', device='cpu')], form: int, threads: int, simd: int) -> None: ...

@overload
def pair_sums_sparse(x_values: Annotated[NDArray[numpy.float32], dict(shape=(None,), order='C', device='cpu', writable=False)], x_indices: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)], x_indptr: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)], y_values: Annotated[NDArray[numpy.float32], dict(shape=(None,), order='C', device='cpu', writable=False)], y_rows: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)], y_indptr: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)], out: Annotated[NDArray[numpy.float32], dict(shape=(None, None), order='C', device='cpu')], form: int, threads: int, simd: int) -> None: ...

@overload
def pair_sums_sparse(x_values: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], x_indices: Annotated[NDArray[numpy.int32], dict(shape=(None,), order='C', device='cpu', writable=False)], x_indptr: Annotated[NDArray[numpy.int32], dict(shape=(None,), order='C', device='cpu', writable=False)], y_values: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], y_rows: Annotated[NDArray[numpy.int32], dict(shape=(None,), order='C', device='cpu', writable=False)], y_indptr: Annotated[NDArray[numpy.int32], dict(shape=(None,), order='C', device='cpu', writable=False)], out: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order='C', device='cpu')], form: int, threads: int, simd: int) -> None: ...

@overload
def pair_sums_sparse(x_values: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], x_indices: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)], x_indptr: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)], y_values: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], y_rows: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)], y_indptr: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)], out: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order='C', device='cpu')], form: int, threads: int, simd: int) -> None:
    """
    The same (and 3 dot) for x in CSR and y in CSC, canonical, of one value and one index type.
    """

class FernTables:
    """The tests of ferns."""

    def __init__(self, columns: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)], starts: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)], cuts: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], medians: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], places: Annotated[NDArray[numpy.int32], dict(shape=(None, None), order='C', device='cpu', writable=False)], ranks: Annotated[NDArray[numpy.uint8], dict(shape=(None, None), order='C', device='cpu', writable=False)]) -> None: ...

class Forest:
    """Decision trees."""

    def __init__(self, starts: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)], left: Annotated[NDArray[numpy.int32], dict(shape=(None,), order='C', device='cpu', writable=False)], right: Annotated[NDArray[numpy.int32], dict(shape=(None,), order='C', device='cpu', writable=False)], column: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)], threshold: Annotated[NDArray[numpy.float32], dict(shape=(None,), order='C', device='cpu', writable=False)], missing_left: Annotated[NDArray[numpy.bool_], dict(shape=(None,), order='C', device='cpu', writable=False)], n_cols: int) -> None: ...

@overload
def encode_ferns(tables: FernTables, values: Annotated[NDArray, dict(order='C', device='cpu', writable=False)], indices: Annotated[NDArray, dict(order='C', device='cpu', writable=False)] | None, indptr: Annotated[NDArray, dict(order='C', device='cpu', writable=False)] | None, n_cols: int, codes: Annotated[NDArray[numpy.uint8], dict(shape=(None, None), order='C', device='cpu')], threads: int, simd: int) -> None: ...

@overload
def encode_ferns(tables: FernTables, values: Annotated[NDArray, dict(order='C', device='cpu', writable=False)], indices: Annotated[NDArray, dict(order='C', device='cpu', writable=False)] | None, indptr: Annotated[NDArray, dict(order='C', device='cpu', writable=False)] | None, n_cols: int, codes: Annotated[NDArray[numpy.uint16], dict(shape=(None, None), order='C', device='cpu')], threads: int, simd: int) -> None:
    """Codes of the tests of ferns; NaN is missing."""

@overload
def encode_leaves(forest: Forest, values: Annotated[NDArray, dict(order='C', device='cpu', writable=False)], indices: Annotated[NDArray, dict(order='C', device='cpu', writable=False)] | None, indptr: Annotated[NDArray, dict(order='C', device='cpu', writable=False)] | None, n_cols: int, codes: Annotated[NDArray[numpy.uint8], dict(shape=(None, None), order='C', device='cpu')], threads: int) -> None: ...

@overload
def encode_leaves(forest: Forest, values: Annotated[NDArray, dict(order='C', device='cpu', writable=False)], indices: Annotated[NDArray, dict(order='C', device='cpu', writable=False)] | None, indptr: Annotated[NDArray, dict(order='C', device='cpu', writable=False)] | None, n_cols: int, codes: Annotated[NDArray[numpy.uint16], dict(shape=(None, None), order='C', device='cpu')], threads: int) -> None:
    """The number of the leaf of each tree, for each row; NaN is missing."""

def bin_columns(values: Annotated[NDArray, dict(order='C', device='cpu', writable=False)], indices: Annotated[NDArray, dict(order='C', device='cpu', writable=False)] | None, indptr: Annotated[NDArray, dict(order='C', device='cpu', writable=False)] | None, n_cols: int, columns: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)], first: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)], highs: Annotated[NDArray[numpy.float32], dict(shape=(None,), order='C', device='cpu', writable=False)], bins: Annotated[NDArray[numpy.uint8], dict(shape=(None, None), order='C', device='cpu')], lows: Annotated[NDArray[numpy.float32], dict(shape=(None,), order='C', device='cpu')], threads: int) -> None:
    """
    The bin of every row in some columns, and the smallest number of each bin.
    """

def grow_forest(bins: Annotated[NDArray[numpy.uint8], dict(shape=(None, None), order='C', device='cpu', writable=False)], first: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)], lows: Annotated[NDArray[numpy.float32], dict(shape=(None,), order='C', device='cpu', writable=False)], highs: Annotated[NDArray[numpy.float32], dict(shape=(None,), order='C', device='cpu', writable=False)], weights: Annotated[NDArray[numpy.uint32], dict(shape=(None,), order='C', device='cpu', writable=False)], labels: Annotated[NDArray[numpy.int32], dict(shape=(None,), order='C', device='cpu', writable=False)] | None, values: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order='C', device='cpu', writable=False)] | None, seed: int, n_trees: int, n_draws: int, n_looked: int, max_leaves: int, min_rows: int, first_tree: int, left: Annotated[NDArray[numpy.int32], dict(shape=(None, None), order='C', device='cpu')], right: Annotated[NDArray[numpy.int32], dict(shape=(None, None), order='C', device='cpu')], column: Annotated[NDArray[numpy.int64], dict(shape=(None, None), order='C', device='cpu')], threshold: Annotated[NDArray[numpy.float32], dict(shape=(None, None), order='C', device='cpu')], missing_left: Annotated[NDArray[numpy.bool_], dict(shape=(None, None), order='C', device='cpu')], gain: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order='C', device='cpu')], sizes: Annotated[NDArray[numpy.int32], dict(shape=(None,), order='C', device='cpu')], threads: int) -> None:
    """
    Random trees of binned columns, for classes (labels) or quantities (values).
    """

MOST_BINS: int = 255

MOST_CUTS: int = 255

STREAM_FERN_COLUMN: int = 19

STREAM_FERN_CUT: int = 20

@overload
def codes_collisions(a: Annotated[NDArray[numpy.uint8], dict(shape=(None, None), order='C', device='cpu', writable=False)], a_empty: Annotated[NDArray[numpy.bool_], dict(shape=(None,), order='C', device='cpu', writable=False)] | None, b: Annotated[NDArray[numpy.uint8], dict(shape=(None, None), order='C', device='cpu', writable=False)], b_empty: Annotated[NDArray[numpy.bool_], dict(shape=(None,), order='C', device='cpu', writable=False)] | None, out: Annotated[NDArray[numpy.int32], dict(shape=(None, None), order='C', device='cpu')], threads: int, simd: int) -> None: ...

@overload
def codes_collisions(a: Annotated[NDArray[numpy.uint16], dict(shape=(None, None), order='C', device='cpu', writable=False)], a_empty: Annotated[NDArray[numpy.bool_], dict(shape=(None,), order='C', device='cpu', writable=False)] | None, b: Annotated[NDArray[numpy.uint16], dict(shape=(None, None), order='C', device='cpu', writable=False)], b_empty: Annotated[NDArray[numpy.bool_], dict(shape=(None,), order='C', device='cpu', writable=False)] | None, out: Annotated[NDArray[numpy.int32], dict(shape=(None, None), order='C', device='cpu')], threads: int, simd: int) -> None:
    """
    out[i, j] = number of equal slots of row i of a and row j of b; 0 where either is empty.
    """

@overload
def codes_pack(array: Annotated[NDArray[numpy.uint8], dict(shape=(None, None), order='C', device='cpu', writable=False)], lane_bits: int, out: Annotated[NDArray[numpy.uint64], dict(shape=(None, None), order='C', device='cpu')], threads: int) -> None: ...

@overload
def codes_pack(array: Annotated[NDArray[numpy.uint16], dict(shape=(None, None), order='C', device='cpu', writable=False)], lane_bits: int, out: Annotated[NDArray[numpy.uint64], dict(shape=(None, None), order='C', device='cpu')], threads: int) -> None:
    """
    Slots into 64-bit words, lowest bits first; every slot must be below 2**lane_bits.
    """

@overload
def codes_unpack(words: Annotated[NDArray[numpy.uint64], dict(shape=(None, None), order='C', device='cpu', writable=False)], lane_bits: int, out: Annotated[NDArray[numpy.uint8], dict(shape=(None, None), order='C', device='cpu')], threads: int) -> None: ...

@overload
def codes_unpack(words: Annotated[NDArray[numpy.uint64], dict(shape=(None, None), order='C', device='cpu', writable=False)], lane_bits: int, out: Annotated[NDArray[numpy.uint16], dict(shape=(None, None), order='C', device='cpu')], threads: int) -> None:
    """The inverse of codes_pack."""

@overload
def codes_columns(array: Annotated[NDArray[numpy.uint8], dict(shape=(None, None), order='C', device='cpu', writable=False)], bits: int, indptr: Annotated[NDArray[numpy.int32], dict(shape=(None,), order='C', device='cpu', writable=False)], out: Annotated[NDArray[numpy.int32], dict(shape=(None,), order='C', device='cpu')], threads: int) -> None: ...

@overload
def codes_columns(array: Annotated[NDArray[numpy.uint8], dict(shape=(None, None), order='C', device='cpu', writable=False)], bits: int, indptr: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)], out: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu')], threads: int) -> None: ...

@overload
def codes_columns(array: Annotated[NDArray[numpy.uint16], dict(shape=(None, None), order='C', device='cpu', writable=False)], bits: int, indptr: Annotated[NDArray[numpy.int32], dict(shape=(None,), order='C', device='cpu', writable=False)], out: Annotated[NDArray[numpy.int32], dict(shape=(None,), order='C', device='cpu')], threads: int) -> None: ...

@overload
def codes_columns(array: Annotated[NDArray[numpy.uint16], dict(shape=(None, None), order='C', device='cpu', writable=False)], bits: int, indptr: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)], out: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu')], threads: int) -> None:
    """
    Columns of the one-hot CSR matrix; the caller chooses an index type that is wide enough.
    """

class ScaledRows:
    """
    Rows of a matrix, and what each is multiplied by before it is projected.
    """

    def __init__(self, values: Annotated[NDArray, dict(order='C', device='cpu', writable=False)], indices: Annotated[NDArray, dict(order='C', device='cpu', writable=False)] | None, indptr: Annotated[NDArray, dict(order='C', device='cpu', writable=False)] | None, n_cols: int, rule: int, factor: float) -> None: ...

class Structure:
    """Blocks of diagonals and Hadamard transforms; with places, of Fastfood."""

    def __init__(self, width: int, n_outputs: int, diagonal: Annotated[NDArray[numpy.float32], dict(shape=(None, None, None), order='C', device='cpu', writable=False)], places: Annotated[NDArray[numpy.int32], dict(shape=(None, None), order='C', device='cpu', writable=False)] | None) -> None: ...

class FourierReadout:
    """Cosines of projections, or cosines and sines in pairs."""

    def __init__(self, scale: Annotated[NDArray[numpy.float32], dict(shape=(None,), order='C', device='cpu', writable=False)], shift: Annotated[NDArray[numpy.float32], dict(shape=(None,), order='C', device='cpu', writable=False)], pairs: bool, amplitude: float) -> None: ...

class BitReadout:
    """Signs of projections, or of cosines of them."""

    def __init__(self, scale: Annotated[NDArray[numpy.float32], dict(shape=(None,), order='C', device='cpu', writable=False)] | None, shift: Annotated[NDArray[numpy.float32], dict(shape=(None,), order='C', device='cpu', writable=False)] | None, threshold: Annotated[NDArray[numpy.float32], dict(shape=(None,), order='C', device='cpu', writable=False)] | None, tie: Annotated[NDArray[numpy.float32], dict(shape=(None,), order='C', device='cpu', writable=False)] | None) -> None: ...

def project_features(rows: ScaledRows, structure: Structure, readout: FourierReadout, out: Annotated[NDArray[numpy.float32], dict(shape=(None, None), order='C', device='cpu')], threads: int, simd: int) -> None:
    """Fourier features of a structured projection."""

def project_bits(rows: ScaledRows, structure: Structure, readout: BitReadout, out: Annotated[NDArray[numpy.uint8], dict(shape=(None, None), order='C', device='cpu')], empty: Annotated[NDArray[numpy.uint8], dict(shape=(None,), order='C', device='cpu')], threads: int, simd: int) -> None:
    """Bits of a structured projection, one a byte."""

@overload
def project_dense(rows: ScaledRows, tables: Annotated[NDArray[numpy.float32], dict(shape=(None, None), order='C', device='cpu', writable=False)], first_feature: int, y: Annotated[NDArray[numpy.float32], dict(shape=(None, None), order='C', device='cpu')], threads: int, simd: int) -> None: ...

@overload
def project_dense(rows: ScaledRows, tables: Annotated[NDArray[numpy.float32], dict(shape=(None, None), order='C', device='cpu', writable=False)], first_feature: int, y: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order='C', device='cpu')], threads: int, simd: int) -> None:
    """
    Add the share of some features to the projections y, features in ascending order.
    """

def project_and_read(rows: ScaledRows, tables: Annotated[NDArray[numpy.float32], dict(shape=(None, None), order='C', device='cpu', writable=False)], first: int, count: int, readout: FourierReadout, out: Annotated[NDArray[numpy.float32], dict(shape=(None, None), order='C', device='cpu')], threads: int, simd: int) -> None:
    """Fourier features of a dense projection of dense rows."""

def read_features(y: Annotated[NDArray[numpy.float32], dict(shape=(None, None), order='C', device='cpu', writable=False)], first: int, count: int, empty: Annotated[NDArray[numpy.bool_], dict(shape=(None,), order='C', device='cpu', writable=False)] | None, readout: FourierReadout, out: Annotated[NDArray[numpy.float32], dict(shape=(None, None), order='C', device='cpu')], threads: int, simd: int) -> None:
    """Fourier features of projections."""

@overload
def read_bits(y: Annotated[NDArray[numpy.float32], dict(shape=(None, None), order='C', device='cpu', writable=False)], first: int, count: int, empty: Annotated[NDArray[numpy.bool_], dict(shape=(None,), order='C', device='cpu', writable=False)] | None, readout: BitReadout, out: Annotated[NDArray[numpy.uint8], dict(shape=(None, None), order='C', device='cpu')], threads: int, simd: int) -> None: ...

@overload
def read_bits(y: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order='C', device='cpu', writable=False)], first: int, count: int, empty: Annotated[NDArray[numpy.bool_], dict(shape=(None,), order='C', device='cpu', writable=False)] | None, readout: BitReadout, out: Annotated[NDArray[numpy.uint8], dict(shape=(None, None), order='C', device='cpu')], threads: int, simd: int) -> None:
    """
    Bits of projections, one a byte; a 0 counts as positive, whatever the ties.
    """

def normalize_rows(features: Annotated[NDArray[numpy.float32], dict(shape=(None, None), order='C', device='cpu')], threads: int) -> None:
    """Bring rows of features to length 1."""

def square_distances(rows: ScaledRows, left: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)], right: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)], out: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu')], threads: int, simd: int) -> None:
    """
    Squared distances of some pairs of rows, the same bits dense or sparse.
    """

def fill_three_hd(seed: int, diagonal: Annotated[NDArray[numpy.float32], dict(shape=(None, None, None), order='C', device='cpu')], lengths: Annotated[NDArray[numpy.float32], dict(shape=(None,), order='C', device='cpu')] | None, factor: float, threads: int) -> None:
    """Draw the signs of three HD blocks, and the lengths of their outputs."""

def fill_fastfood(seed: int, diagonal: Annotated[NDArray[numpy.float32], dict(shape=(None, None, None), order='C', device='cpu')], places: Annotated[NDArray[numpy.int32], dict(shape=(None, None), order='C', device='cpu')], lengths: Annotated[NDArray[numpy.float32], dict(shape=(None,), order='C', device='cpu')], factor: float, threads: int) -> None:
    """Draw Fastfood blocks."""

def fill_dense(seed: int, cauchy: bool, ids: Annotated[NDArray[numpy.uint64], dict(shape=(None,), order='C', device='cpu', writable=False)], first_output: int, tables: Annotated[NDArray[numpy.float32], dict(shape=(None, None), order='C', device='cpu')], threads: int, simd: int) -> None:
    """Draw tiles of a dense projection."""

def fill_orthogonal(seed: int, n_features: int, n_outputs: int, block: int, tables: Annotated[NDArray[numpy.float32], dict(shape=(None, None), order='C', device='cpu')], threads: int, simd: int) -> None:
    """Draw a block of an orthogonal projection into its tiles."""

def fill_words(seed: int, stream: int, out: Annotated[NDArray[numpy.uint64], dict(shape=(None,), order='C', device='cpu')]) -> None:
    """The first random words of a stream of a seed."""

def fill_phases(seed: int, out: Annotated[NDArray[numpy.float32], dict(shape=(None,), order='C', device='cpu')]) -> None:
    """Draw phases, in turns."""

def fill_thresholds(seed: int, out: Annotated[NDArray[numpy.float32], dict(shape=(None,), order='C', device='cpu')]) -> None:
    """Draw thresholds."""

def fill_ties(seed: int, out: Annotated[NDArray[numpy.float32], dict(shape=(None,), order='C', device='cpu')]) -> None:
    """Draw the signs that projections of 0 count as."""

TILE: int = 64

STREAM_PAIRS: int = 13

STREAM_SCRAMBLE: int = 14

STREAM_POSITION: int = 15

STREAM_REMIX: int = 16

STREAM_CHOICE: int = 17

def is_plain(values: object, n_cols: int) -> bool:
    """
    Whether values are a C-ordered float32 or float64 array of that width, with at least one row and finite.
    """

class ColumnScaling:
    """A scaling of the columns of dense rows."""

    @staticmethod
    def units(form: int, origin: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)] | None, unit: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], weights: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)] | None = None) -> ColumnScaling:
        """
        (x - origin) / unit; form: 0 as it is, 1 floored at 0, 2 with complements; then times the weight of the column.
        """

    @staticmethod
    def ranks(form: int, knots: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], ranks: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], starts: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)], weights: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)] | None = None) -> ColumnScaling:
        """Ranks between knots, times the weight of the column."""

    def __call__(self, values: Annotated[NDArray, dict(order='C', device='cpu', writable=False)], out: Annotated[NDArray, dict(order='C', device='cpu')], threads: int) -> None:
        """Scale dense rows into out."""

def settings() -> tuple:
    """
    The environment variables KERNELIGHT_NUM_THREADS, OMP_NUM_THREADS and KERNELIGHT_SIMD.
    """

class LinearTargets32:
    """What rows should give, and what an error costs."""

    def __init__(self, labels: Annotated[NDArray[numpy.int32], dict(shape=(None,), order='C', device='cpu', writable=False)] | None, targets: Annotated[NDArray[numpy.float32], dict(shape=(None, None), order='C', device='cpu', writable=False)] | None, row_cost: Annotated[NDArray[numpy.float32], dict(shape=(None,), order='C', device='cpu', writable=False)], cost_above: Annotated[NDArray[numpy.float32], dict(shape=(None,), order='C', device='cpu', writable=False)], cost_below: Annotated[NDArray[numpy.float32], dict(shape=(None,), order='C', device='cpu', writable=False)], norms: Annotated[NDArray[numpy.float32], dict(shape=(None,), order='C', device='cpu', writable=False)], intercept: bool, loss: int, epsilon: float) -> None: ...

class LinearRows32:
    """Rows of a linear model."""

    def epoch(self, targets: LinearTargets32, weights: Annotated[NDArray[numpy.float32], dict(shape=(None, None), order='C', device='cpu')], bias: Annotated[NDArray[numpy.float32], dict(shape=(None,), order='C', device='cpu')], dual: Annotated[NDArray[numpy.float32], dict(shape=(None, None), order='C', device='cpu')], open: Annotated[NDArray[numpy.bool_], dict(shape=(None,), order='C', device='cpu', writable=False)], order: Annotated[NDArray[numpy.int32], dict(shape=(None,), order='C', device='cpu', writable=False)], sweeps: int, shrink_threshold: float, shrunk_for: Annotated[NDArray[numpy.uint8], dict(shape=(None,), order='C', device='cpu')], times_shrunk: Annotated[NDArray[numpy.uint8], dict(shape=(None,), order='C', device='cpu')], loss: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu')], gap: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu')], threads: int) -> int:
        """
        One visit of dual coordinate descent to each row of order; loss and gap += the sums of the losses and of the parts of the duality gap that the rows had before.
        """

    def objective(self, targets: LinearTargets32, weights: Annotated[NDArray[numpy.float32], dict(shape=(None, None), order='C', device='cpu')], bias: Annotated[NDArray[numpy.float32], dict(shape=(None,), order='C', device='cpu')], dual: Annotated[NDArray[numpy.float32], dict(shape=(None, None), order='C', device='cpu')], open: Annotated[NDArray[numpy.bool_], dict(shape=(None,), order='C', device='cpu', writable=False)], loss: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu')], conjugate: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu')], begin: int, end: int, threads: int) -> None:
        """
        loss and conjugate += the sums over rows begin ... end of the losses and of their conjugates.
        """

    def add_duals(self, dual: Annotated[NDArray[numpy.float32], dict(shape=(None, None), order='C', device='cpu', writable=False)], intercept: bool, weights: Annotated[NDArray[numpy.float32], dict(shape=(None, None), order='C', device='cpu')], bias: Annotated[NDArray[numpy.float32], dict(shape=(None,), order='C', device='cpu')], begin: int, end: int, threads: int) -> None:
        """weights and bias += the sum of rows begin ... end times their duals."""

    def margins(self, weights: Annotated[NDArray[numpy.float32], dict(shape=(None, None), order='C', device='cpu', writable=False)], bias: Annotated[NDArray[numpy.float32], dict(shape=(None,), order='C', device='cpu', writable=False)], out: Annotated[NDArray[numpy.float32], dict(shape=(None, None), order='C', device='cpu')], begin: int, end: int, threads: int) -> None:
        """out[i, :] = row i times weights, plus bias, for rows begin ... end."""

class LinearTargets64:
    """What rows should give, and what an error costs."""

    def __init__(self, labels: Annotated[NDArray[numpy.int32], dict(shape=(None,), order='C', device='cpu', writable=False)] | None, targets: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order='C', device='cpu', writable=False)] | None, row_cost: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], cost_above: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], cost_below: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], norms: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], intercept: bool, loss: int, epsilon: float) -> None: ...

class LinearRows64:
    """Rows of a linear model."""

    def epoch(self, targets: LinearTargets64, weights: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order='C', device='cpu')], bias: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu')], dual: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order='C', device='cpu')], open: Annotated[NDArray[numpy.bool_], dict(shape=(None,), order='C', device='cpu', writable=False)], order: Annotated[NDArray[numpy.int32], dict(shape=(None,), order='C', device='cpu', writable=False)], sweeps: int, shrink_threshold: float, shrunk_for: Annotated[NDArray[numpy.uint8], dict(shape=(None,), order='C', device='cpu')], times_shrunk: Annotated[NDArray[numpy.uint8], dict(shape=(None,), order='C', device='cpu')], loss: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu')], gap: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu')], threads: int) -> int:
        """
        One visit of dual coordinate descent to each row of order; loss and gap += the sums of the losses and of the parts of the duality gap that the rows had before.
        """

    def objective(self, targets: LinearTargets64, weights: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order='C', device='cpu')], bias: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu')], dual: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order='C', device='cpu')], open: Annotated[NDArray[numpy.bool_], dict(shape=(None,), order='C', device='cpu', writable=False)], loss: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu')], conjugate: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu')], begin: int, end: int, threads: int) -> None:
        """
        loss and conjugate += the sums over rows begin ... end of the losses and of their conjugates.
        """

    def add_duals(self, dual: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order='C', device='cpu', writable=False)], intercept: bool, weights: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order='C', device='cpu')], bias: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu')], begin: int, end: int, threads: int) -> None:
        """weights and bias += the sum of rows begin ... end times their duals."""

    def margins(self, weights: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order='C', device='cpu', writable=False)], bias: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], out: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order='C', device='cpu')], begin: int, end: int, threads: int) -> None:
        """out[i, :] = row i times weights, plus bias, for rows begin ... end."""

@overload
def linear_codes_32(array: Annotated[NDArray[numpy.uint8], dict(shape=(None, None), order='C', device='cpu', writable=False)], empty: Annotated[NDArray[numpy.bool_], dict(shape=(None,), order='C', device='cpu', writable=False)] | None, bits: int, local: Annotated[NDArray[numpy.uint16], dict(shape=(None,), order='C', device='cpu', writable=False)], ranked: bool, segment_slot: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)], segment_entry: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)], part_segment: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)], simd: int) -> LinearRows32: ...

@overload
def linear_codes_32(array: Annotated[NDArray[numpy.uint16], dict(shape=(None, None), order='C', device='cpu', writable=False)], empty: Annotated[NDArray[numpy.bool_], dict(shape=(None,), order='C', device='cpu', writable=False)] | None, bits: int, local: Annotated[NDArray[numpy.uint16], dict(shape=(None,), order='C', device='cpu', writable=False)], ranked: bool, segment_slot: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)], segment_entry: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)], part_segment: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)], simd: int) -> LinearRows32:
    """A view of codes and of the layout of their weights."""

@overload
def linear_codes_64(array: Annotated[NDArray[numpy.uint8], dict(shape=(None, None), order='C', device='cpu', writable=False)], empty: Annotated[NDArray[numpy.bool_], dict(shape=(None,), order='C', device='cpu', writable=False)] | None, bits: int, local: Annotated[NDArray[numpy.uint16], dict(shape=(None,), order='C', device='cpu', writable=False)], ranked: bool, segment_slot: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)], segment_entry: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)], part_segment: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)], simd: int) -> LinearRows64: ...

@overload
def linear_codes_64(array: Annotated[NDArray[numpy.uint16], dict(shape=(None, None), order='C', device='cpu', writable=False)], empty: Annotated[NDArray[numpy.bool_], dict(shape=(None,), order='C', device='cpu', writable=False)] | None, bits: int, local: Annotated[NDArray[numpy.uint16], dict(shape=(None,), order='C', device='cpu', writable=False)], ranked: bool, segment_slot: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)], segment_entry: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)], part_segment: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)], simd: int) -> LinearRows64:
    """A view of codes and of the layout of their weights."""

def linear_matrix_32(values: Annotated[NDArray, dict(order='C', device='cpu', writable=False)], indices: Annotated[NDArray, dict(order='C', device='cpu', writable=False)] | None, indptr: Annotated[NDArray, dict(order='C', device='cpu', writable=False)] | None, n_cols: int, simd: int) -> LinearRows32:
    """A view of dense rows, or of CSR rows."""

def linear_matrix_64(values: Annotated[NDArray, dict(order='C', device='cpu', writable=False)], indices: Annotated[NDArray, dict(order='C', device='cpu', writable=False)] | None, indptr: Annotated[NDArray, dict(order='C', device='cpu', writable=False)] | None, n_cols: int, simd: int) -> LinearRows64:
    """A view of dense rows, or of CSR rows."""

@overload
def code_histogram(array: Annotated[NDArray[numpy.uint8], dict(shape=(None, None), order='C', device='cpu', writable=False)], empty: Annotated[NDArray[numpy.bool_], dict(shape=(None,), order='C', device='cpu', writable=False)] | None, bits: int, out: Annotated[NDArray[numpy.int32], dict(shape=(None,), order='C', device='cpu')], threads: int) -> None: ...

@overload
def code_histogram(array: Annotated[NDArray[numpy.uint8], dict(shape=(None, None), order='C', device='cpu', writable=False)], empty: Annotated[NDArray[numpy.bool_], dict(shape=(None,), order='C', device='cpu', writable=False)] | None, bits: int, out: Annotated[NDArray[numpy.bool_], dict(shape=(None,), order='C', device='cpu')], threads: int) -> None: ...

@overload
def code_histogram(array: Annotated[NDArray[numpy.uint16], dict(shape=(None, None), order='C', device='cpu', writable=False)], empty: Annotated[NDArray[numpy.bool_], dict(shape=(None,), order='C', device='cpu', writable=False)] | None, bits: int, out: Annotated[NDArray[numpy.int32], dict(shape=(None,), order='C', device='cpu')], threads: int) -> None: ...

@overload
def code_histogram(array: Annotated[NDArray[numpy.uint16], dict(shape=(None, None), order='C', device='cpu', writable=False)], empty: Annotated[NDArray[numpy.bool_], dict(shape=(None,), order='C', device='cpu', writable=False)] | None, bits: int, out: Annotated[NDArray[numpy.bool_], dict(shape=(None,), order='C', device='cpu')], threads: int) -> None:
    """
    out[s << bits | c] = number of rows with code c in slot s, or whether there are any.
    """

@overload
def code_ranks(array: Annotated[NDArray[numpy.uint8], dict(shape=(None, None), order='C', device='cpu', writable=False)], empty: Annotated[NDArray[numpy.bool_], dict(shape=(None,), order='C', device='cpu', writable=False)] | None, bits: int, local: Annotated[NDArray[numpy.uint16], dict(shape=(None,), order='C', device='cpu', writable=False)], first: Annotated[NDArray[numpy.uint16], dict(shape=(None,), order='C', device='cpu', writable=False)], out: Annotated[NDArray[numpy.uint8], dict(shape=(None, None), order='C', device='cpu')], threads: int) -> None: ...

@overload
def code_ranks(array: Annotated[NDArray[numpy.uint16], dict(shape=(None, None), order='C', device='cpu', writable=False)], empty: Annotated[NDArray[numpy.bool_], dict(shape=(None,), order='C', device='cpu', writable=False)] | None, bits: int, local: Annotated[NDArray[numpy.uint16], dict(shape=(None,), order='C', device='cpu', writable=False)], first: Annotated[NDArray[numpy.uint16], dict(shape=(None,), order='C', device='cpu', writable=False)], out: Annotated[NDArray[numpy.uint16], dict(shape=(None, None), order='C', device='cpu')], threads: int) -> None:
    """out[i, s] = the rank of a code within its slot."""

class SummedRows:
    """A matrix with the absolute sums of its rows."""

    def __init__(self, values: Annotated[NDArray, dict(order='C', device='cpu', writable=False)], indices: Annotated[NDArray, dict(order='C', device='cpu', writable=False)] | None, indptr: Annotated[NDArray, dict(order='C', device='cpu', writable=False)] | None, n_cols: int, sums: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], nonnegative: bool) -> None: ...

def absolute_sums(values: Annotated[NDArray, dict(order='C', device='cpu', writable=False)], indices: Annotated[NDArray, dict(order='C', device='cpu', writable=False)] | None, indptr: Annotated[NDArray, dict(order='C', device='cpu', writable=False)] | None, n_cols: int, out: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu')], threads: int) -> None:
    """The sum of absolute values of each row, in the order of storage."""

def minmax_of_pairs(x: SummedRows, y: SummedRows, i: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)], j: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)], out: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu')], threads: int, simd: int) -> None:
    """out[n] = min-max similarity of row i[n] of x and row j[n] of y."""

def best_candidates(x: SummedRows, queries: SummedRows, candidates: Annotated[NDArray[numpy.int64], dict(shape=(None, None), order='C', device='cpu', writable=False)], rows: Annotated[NDArray[numpy.int64], dict(shape=(None, None), order='C', device='cpu')], similarities: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order='C', device='cpu')], threads: int, simd: int) -> None:
    """
    For each query its most similar candidates, rows of x or -1: best first, ties to the lower row, padded with -1.
    """

@overload
def band_keys(codes: Annotated[NDArray[numpy.uint8], dict(shape=(None, None), order='C', device='cpu', writable=False)], rows: int, out: Annotated[NDArray[numpy.uint32], dict(shape=(None, None), order='C', device='cpu')], threads: int) -> None: ...

@overload
def band_keys(codes: Annotated[NDArray[numpy.uint8], dict(shape=(None, None), order='C', device='cpu', writable=False)], rows: int, out: Annotated[NDArray[numpy.uint64], dict(shape=(None, None), order='C', device='cpu')], threads: int) -> None: ...

@overload
def band_keys(codes: Annotated[NDArray[numpy.uint16], dict(shape=(None, None), order='C', device='cpu', writable=False)], rows: int, out: Annotated[NDArray[numpy.uint32], dict(shape=(None, None), order='C', device='cpu')], threads: int) -> None: ...

@overload
def band_keys(codes: Annotated[NDArray[numpy.uint16], dict(shape=(None, None), order='C', device='cpu', writable=False)], rows: int, out: Annotated[NDArray[numpy.uint64], dict(shape=(None, None), order='C', device='cpu')], threads: int) -> None:
    """Keys (n, bands) of bands of slots: 64 bits, or the upper 32 of them."""

def band_tables(keys: Annotated[NDArray[numpy.uint32], dict(shape=(None, None), order='C', device='cpu', writable=False)], empty: Annotated[NDArray[numpy.bool_], dict(shape=(None,), order='C', device='cpu', writable=False)] | None, cap: int, table_keys: Annotated[NDArray[numpy.uint32], dict(shape=(None, None), order='C', device='cpu')] | None, table_rows: Annotated[NDArray[numpy.uint32], dict(shape=(None, None), order='C', device='cpu')] | None, counts: Annotated[NDArray[numpy.int64], dict(shape=(None, None), order='C', device='cpu')], threads: int) -> None:
    """
    Rows of each band by ascending key, and for each band the largest bucket, pairs that meet, buckets above the cap and rows in these.
    """

def band_late_rows(keys: Annotated[NDArray[numpy.uint32], dict(shape=(None, None), order='C', device='cpu', writable=False)], empty: Annotated[NDArray[numpy.bool_], dict(shape=(None,), order='C', device='cpu', writable=False)] | None, cap: int, late: Annotated[NDArray[numpy.bool_], dict(shape=(None, None), order='C', device='cpu')], threads: int) -> None:
    """Which rows come after the first `cap` of their bucket, in each band."""

def band_join(keys: Annotated[NDArray[numpy.uint32], dict(shape=(None, None), order='C', device='cpu', writable=False)], empty: Annotated[NDArray[numpy.bool_], dict(shape=(None,), order='C', device='cpu', writable=False)] | None, begin: int, end: int, late: Annotated[NDArray[numpy.bool_], dict(shape=(None, None), order='C', device='cpu', writable=False)] | None, cap: int, sketch: Annotated[NDArray[numpy.uint8], dict(shape=(None, None), order='C', device='cpu', writable=False)] | None, least: int, rows: SummedRows | None, groups: Annotated[NDArray[numpy.uint8], dict(shape=(None, None), order='C', device='cpu', writable=False)] | None, unit: float, threshold: float, threads: int, simd: int) -> tuple:
    """
    Verified pairs of some bands: ((i, j, similarity), met, passed, verified). Without rows the pairs that pass the sketch, each with a similarity of 1.
    """

def band_matches(table_keys: Annotated[NDArray[numpy.uint32], dict(shape=(None, None), order='C', device='cpu', writable=False)], table_rows: Annotated[NDArray[numpy.uint32], dict(shape=(None, None), order='C', device='cpu', writable=False)], queries: Annotated[NDArray[numpy.uint32], dict(shape=(None, None), order='C', device='cpu', writable=False)], empty: Annotated[NDArray[numpy.bool_], dict(shape=(None,), order='C', device='cpu', writable=False)] | None, cap: int, threads: int) -> tuple:
    """
    Rows that agree with each query in some band, ascending: starts (queries + 1) and rows.
    """

@overload
def scan_codes(data: Annotated[NDArray[numpy.uint8], dict(shape=(None, None), order='C', device='cpu', writable=False)], data_empty: Annotated[NDArray[numpy.bool_], dict(shape=(None,), order='C', device='cpu', writable=False)] | None, queries: Annotated[NDArray[numpy.uint8], dict(shape=(None, None), order='C', device='cpu', writable=False)], query_empty: Annotated[NDArray[numpy.bool_], dict(shape=(None,), order='C', device='cpu', writable=False)] | None, rows: Annotated[NDArray[numpy.int64], dict(shape=(None, None), order='C', device='cpu')], threads: int, simd: int) -> None: ...

@overload
def scan_codes(data: Annotated[NDArray[numpy.uint16], dict(shape=(None, None), order='C', device='cpu', writable=False)], data_empty: Annotated[NDArray[numpy.bool_], dict(shape=(None,), order='C', device='cpu', writable=False)] | None, queries: Annotated[NDArray[numpy.uint16], dict(shape=(None, None), order='C', device='cpu', writable=False)], query_empty: Annotated[NDArray[numpy.bool_], dict(shape=(None,), order='C', device='cpu', writable=False)] | None, rows: Annotated[NDArray[numpy.int64], dict(shape=(None, None), order='C', device='cpu')], threads: int, simd: int) -> None:
    """
    For each query the rows of data with the most equal slots: most first, ties to the lower row, padded with -1.
    """

@overload
def equal_slots_of_pairs(a: Annotated[NDArray[numpy.uint8], dict(shape=(None, None), order='C', device='cpu', writable=False)], a_empty: Annotated[NDArray[numpy.bool_], dict(shape=(None,), order='C', device='cpu', writable=False)] | None, b: Annotated[NDArray[numpy.uint8], dict(shape=(None, None), order='C', device='cpu', writable=False)], b_empty: Annotated[NDArray[numpy.bool_], dict(shape=(None,), order='C', device='cpu', writable=False)] | None, i: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)], j: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)], out: Annotated[NDArray[numpy.int32], dict(shape=(None,), order='C', device='cpu')], threads: int, simd: int) -> None: ...

@overload
def equal_slots_of_pairs(a: Annotated[NDArray[numpy.uint16], dict(shape=(None, None), order='C', device='cpu', writable=False)], a_empty: Annotated[NDArray[numpy.bool_], dict(shape=(None,), order='C', device='cpu', writable=False)] | None, b: Annotated[NDArray[numpy.uint16], dict(shape=(None, None), order='C', device='cpu', writable=False)], b_empty: Annotated[NDArray[numpy.bool_], dict(shape=(None,), order='C', device='cpu', writable=False)] | None, i: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)], j: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)], out: Annotated[NDArray[numpy.int32], dict(shape=(None,), order='C', device='cpu')], threads: int, simd: int) -> None:
    """
    out[n] = equal slots of row i[n] of a and row j[n] of b; 0 where either is empty.
    """

class RankedRows:
    """Sparse rows by ascending sum, coordinates by rarity."""

    def __init__(self, ranks: Annotated[NDArray[numpy.uint32], dict(shape=(None,), order='C', device='cpu')], weights: Annotated[NDArray[numpy.float32], dict(shape=(None,), order='C', device='cpu')], starts: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu')], sums: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)]) -> None: ...

class PrefixLists:
    """Listed rows of each coordinate."""

    def __init__(self, starts: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu')], rows: Annotated[NDArray[numpy.uint32], dict(shape=(None,), order='C', device='cpu')], weights: Annotated[NDArray[numpy.float32], dict(shape=(None,), order='C', device='cpu')], rests: Annotated[NDArray[numpy.float32], dict(shape=(None,), order='C', device='cpu')]) -> None: ...

def rank_rows(rows: SummedRows, order: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)], rank_of: Annotated[NDArray[numpy.uint32], dict(shape=(None,), order='C', device='cpu')], ranked: RankedRows, threads: int) -> None:
    """
    Fill rank_of with the rarity of coordinates, and ranked with the rows in that order.
    """

def count_listed(ranked: RankedRows, threshold: float, room: float, starts: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu')]) -> int:
    """Where the list of each rank starts, and how many entries all have."""

def fill_lists(ranked: RankedRows, threshold: float, room: float, lists: PrefixLists) -> None:
    """The lists of listed rows."""

def join_cost(ranked: RankedRows, threshold: float, room: float, lists: PrefixLists, probes: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)]) -> tuple:
    """
    Entries of lists that some rows meet, and pairs of theirs to be verified.
    """

def prefix_join(ranked: RankedRows, threshold: float, room: float, lists: PrefixLists, order: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)], begin: int, end: int, rows: SummedRows, threads: int, simd: int) -> tuple:
    """
    Verified pairs of some rows, in the order of sums, with all rows before them.
    """

def rounding_room(longest: int) -> float:
    """The room that sums of rows of so many entries need."""

class ColumnLists32:
    """Sparse rows by column, with their absolute sums."""

    def __init__(self, values: Annotated[NDArray[numpy.float32], dict(shape=(None,), order='C', device='cpu', writable=False)], rows: Annotated[NDArray[numpy.int32], dict(shape=(None,), order='C', device='cpu', writable=False)], indptr: Annotated[NDArray[numpy.int32], dict(shape=(None,), order='C', device='cpu', writable=False)], sums: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)]) -> None: ...

    def best(self, queries: SummedRows, rows: Annotated[NDArray[numpy.int64], dict(shape=(None, None), order='C', device='cpu')], similarities: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order='C', device='cpu')], threads: int) -> None:
        """
        The most similar rows for each sparse query, best first, padded with -1.
        """

    def above(self, queries: SummedRows, threshold: float, threads: int) -> tuple:
        """All (query, row, similarity) of at least a threshold."""

class ColumnLists32Long:
    """Sparse rows by column, with their absolute sums."""

    def __init__(self, values: Annotated[NDArray[numpy.float32], dict(shape=(None,), order='C', device='cpu', writable=False)], rows: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)], indptr: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)], sums: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)]) -> None: ...

    def best(self, queries: SummedRows, rows: Annotated[NDArray[numpy.int64], dict(shape=(None, None), order='C', device='cpu')], similarities: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order='C', device='cpu')], threads: int) -> None:
        """
        The most similar rows for each sparse query, best first, padded with -1.
        """

    def above(self, queries: SummedRows, threshold: float, threads: int) -> tuple:
        """All (query, row, similarity) of at least a threshold."""

class ColumnLists64:
    """Sparse rows by column, with their absolute sums."""

    def __init__(self, values: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], rows: Annotated[NDArray[numpy.int32], dict(shape=(None,), order='C', device='cpu', writable=False)], indptr: Annotated[NDArray[numpy.int32], dict(shape=(None,), order='C', device='cpu', writable=False)], sums: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)]) -> None: ...

    def best(self, queries: SummedRows, rows: Annotated[NDArray[numpy.int64], dict(shape=(None, None), order='C', device='cpu')], similarities: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order='C', device='cpu')], threads: int) -> None:
        """
        The most similar rows for each sparse query, best first, padded with -1.
        """

    def above(self, queries: SummedRows, threshold: float, threads: int) -> tuple:
        """All (query, row, similarity) of at least a threshold."""

class ColumnLists64Long:
    """Sparse rows by column, with their absolute sums."""

    def __init__(self, values: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], rows: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)], indptr: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)], sums: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)]) -> None: ...

    def best(self, queries: SummedRows, rows: Annotated[NDArray[numpy.int64], dict(shape=(None, None), order='C', device='cpu')], similarities: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order='C', device='cpu')], threads: int) -> None:
        """
        The most similar rows for each sparse query, best first, padded with -1.
        """

    def above(self, queries: SummedRows, threshold: float, threads: int) -> tuple:
        """All (query, row, similarity) of at least a threshold."""

def code_metric(simd: int) -> int:
    """
    The address of a C function: the number of different bytes of two arrays of a length.
    """

class SlotWinners:
    """Which features share each slot, and the column of each feature."""

    def __init__(self, features: Annotated[NDArray[numpy.int64], dict(shape=(None, None), order='C', device='cpu', writable=False)], starts: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)], column: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)] | None, n_features: int, n_columns: int) -> None: ...

class CodeWeights:
    """The weights of codes, and where they lie."""

    def __init__(self, bits: int, local: Annotated[NDArray[numpy.uint16], dict(shape=(None,), order='C', device='cpu', writable=False)] | None, segment_slot: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)], segment_entry: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)], part_segment: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)], weights: Annotated[NDArray[numpy.float32], dict(shape=(None, None), order='C', device='cpu', writable=False)]) -> None: ...

    @overload
    def scores(self, array: Annotated[NDArray[numpy.uint8], dict(shape=(None, None), order='C', device='cpu', writable=False)], empty: Annotated[NDArray[numpy.bool_], dict(shape=(None,), order='C', device='cpu', writable=False)] | None, out: Annotated[NDArray[numpy.float32], dict(shape=(None, None), order='C', device='cpu')], threads: int, simd: int) -> None: ...

    @overload
    def scores(self, array: Annotated[NDArray[numpy.uint16], dict(shape=(None, None), order='C', device='cpu', writable=False)], empty: Annotated[NDArray[numpy.bool_], dict(shape=(None,), order='C', device='cpu', writable=False)] | None, out: Annotated[NDArray[numpy.float32], dict(shape=(None, None), order='C', device='cpu')], threads: int, simd: int) -> None:
        """out[i, :] = the sums of the weights of row i, over sqrt(slots)."""

    @overload
    def attribute(self, array: Annotated[NDArray[numpy.uint8], dict(shape=(None, None), order='C', device='cpu', writable=False)], empty: Annotated[NDArray[numpy.bool_], dict(shape=(None,), order='C', device='cpu', writable=False)] | None, winners: SlotWinners, values: Annotated[NDArray[numpy.float64], dict(shape=(None, None, None), order='C', device='cpu')], rest: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order='C', device='cpu')], squares: Annotated[NDArray[numpy.float64], dict(shape=(None, None, None), order='C', device='cpu')] | None, rest_squares: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order='C', device='cpu')] | None, threads: int) -> None: ...

    @overload
    def attribute(self, array: Annotated[NDArray[numpy.uint16], dict(shape=(None, None), order='C', device='cpu', writable=False)], empty: Annotated[NDArray[numpy.bool_], dict(shape=(None,), order='C', device='cpu', writable=False)] | None, winners: SlotWinners, values: Annotated[NDArray[numpy.float64], dict(shape=(None, None, None), order='C', device='cpu')], rest: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order='C', device='cpu')], squares: Annotated[NDArray[numpy.float64], dict(shape=(None, None, None), order='C', device='cpu')] | None, rest_squares: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order='C', device='cpu')] | None, threads: int) -> None:
        """
        Add the terms of all slots to the columns that share them, and their squares; slots without a winner go to rest.
        """

def attribute_minmax(x: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order='C', device='cpu', writable=False)], values: Annotated[NDArray, dict(order='C', device='cpu', writable=False)], indices: Annotated[NDArray, dict(order='C', device='cpu', writable=False)] | None, indptr: Annotated[NDArray, dict(order='C', device='cpu', writable=False)] | None, n_cols: int, factors: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order='C', device='cpu', writable=False)], duals: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order='C', device='cpu', writable=False)], out: Annotated[NDArray[numpy.float64], dict(shape=(None, None, None), order='C', device='cpu')], threads: int) -> None:
    """
    out[i, c, f] += sum over rows j of y of duals[j, c] factors[i, j] min(x_if, y_jf).
    """

def ternary_sweep(columns: Annotated[NDArray[numpy.uint64], dict(shape=(None, None), order='C', device='cpu', writable=False)], weights: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], n_filled: int, positive: Annotated[NDArray[numpy.uint8], dict(shape=(None, None), order='C', device='cpu', writable=False)], losses: Annotated[NDArray[numpy.float64], dict(shape=(None, None, None), order='C', device='cpu', writable=False)], penalties: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], least: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], orders: Annotated[NDArray[numpy.int32], dict(shape=(None, None), order='C', device='cpu', writable=False)], coefficients: Annotated[NDArray[numpy.int8], dict(shape=(None, None), order='C', device='cpu')], scores: Annotated[NDArray[numpy.int32], dict(shape=(None, None), order='C', device='cpu')], moves: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu')], decrease: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu')], threads: int, simd: int) -> None:
    """
    One sweep of exact coordinate moves of each class; core/ternary.h says what of.
    """

def ternary_dense_sweep(columns: Annotated[NDArray[numpy.float32], dict(shape=(None, None), order='C', device='cpu', writable=False)], largest: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], weights: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], loss: int, positive: Annotated[NDArray[numpy.uint8], dict(shape=(None, None), order='C', device='cpu', writable=False)], scales: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], biases: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], penalties: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], least: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], orders: Annotated[NDArray[numpy.int32], dict(shape=(None, None), order='C', device='cpu', writable=False)], coefficients: Annotated[NDArray[numpy.int8], dict(shape=(None, None), order='C', device='cpu')], totals: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order='C', device='cpu')], moves: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu')], decrease: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu')], threads: int, simd: int) -> None:
    """
    One sweep of exact coordinate moves of each class; core/ternary_dense.h says what of.
    """

def ternary_dense_totals(columns: Annotated[NDArray[numpy.float32], dict(shape=(None, None), order='C', device='cpu', writable=False)], coefficients: Annotated[NDArray[numpy.int8], dict(shape=(None, None), order='C', device='cpu', writable=False)], totals: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order='C', device='cpu')], threads: int, simd: int) -> None:
    """totals = coefficients @ columns, (classes, rows), added in order."""

def ternary_scores(words: Annotated[NDArray[numpy.uint64], dict(shape=(None, None), order='C', device='cpu', writable=False)], plus: Annotated[NDArray[numpy.uint64], dict(shape=(None, None), order='C', device='cpu', writable=False)], used: Annotated[NDArray[numpy.uint64], dict(shape=(None, None), order='C', device='cpu', writable=False)], nonzeros: Annotated[NDArray[numpy.int32], dict(shape=(None,), order='C', device='cpu', writable=False)], scales: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], biases: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], out: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order='C', device='cpu')], threads: int, simd: int) -> None:
    """out = scale * (w . z) + bias of packed rows of bits, by counting bits."""
