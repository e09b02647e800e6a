"""Spreadsheets as people see them."""

from __future__ import annotations

import io
from collections.abc import Callable, Sequence
from datetime import date, time
from typing import Any

import openpyxl
from openpyxl.comments import Comment

from shared.documents.delimited import read_csv
from shared.documents.number_format import shown_number
from shared.documents.parsed_document import ParsedDocument
from shared.documents.workbook import NOT_COMPUTED, read_xlsx
from tests.support.table import table


def _read(rows: Sequence[Sequence[Any]], change: Callable[[Any], None] = lambda sheet: None) -> ParsedDocument:
    book = openpyxl.Workbook()
    for row in rows:
        book.active.append(row)
    change(book.active)
    buffer = io.BytesIO()
    book.save(buffer)
    return read_xlsx(buffer.getvalue())


@table(
    ("value", "number_format", "shown"),
    [
        (0.175, "0.0%", "17.5%"),
        (0.05, "0%", "5%"),
        (1240.5, '#,##0.00 "EUR"', "1,240.50 EUR"),
        (1240.5, "[$€-407] #,##0.00", "€1,240.50"),
        (-3.5, "#,##0.00;(#,##0.00)", "(3.50)"),
        (42, "00000", "00042"),
        (2.5, "0.##", "2.5"),
        (3, "0.##", "3"),
        (0.1 + 0.2, "General", "0.3"),
        (12345.678, "0.00E+00", "12345.678"),
        (7, "", "7"),
    ],
)
def test_numbers_have_their_format(value: float, number_format: str, shown: str) -> None:
    assert shown_number(value, number_format) == shown


def test_days_and_times_are_shown_without_what_they_do_not_say() -> None:
    assert _read([["Day", "Opens"], [date(2026, 9, 1), time(7, 45)]]).text == "Day: 2026-09-01; Opens: 07:45"


def test_merged_cells_hold_for_all_their_rows() -> None:
    document = _read([["Region", "Depot"], ["North", "Lund"], [None, "Torp"]], lambda sheet: sheet.merge_cells("A2:A3"))
    assert document.text == "Region: North; Depot: Lund\nRegion: North; Depot: Torp"


def test_hidden_rows_columns_and_sheets_are_left_out_and_named() -> None:
    def hide(sheet: Any) -> None:
        sheet.row_dimensions[2].hidden = True
        sheet.column_dimensions["B"].hidden = True
        old = sheet.parent.create_sheet("Old")
        old.append(["Price", 9])
        old.sheet_state = "hidden"

    document = _read([["Item", "Cost", "Price"], ["Key", 1, 8], ["Lock", 2, 14]], hide)

    assert document.text == "Item: Lock; Price: 14"
    assert document.left_out == ("hidden row", "hidden column", "hidden sheet Old")
    assert document.blocks[0].cells == ("A3", "C3")
    assert document.blocks[0].place == "sheet Sheet"


def test_formulas_without_a_value_say_so_and_comments_stand_beside_their_cells() -> None:
    def change(sheet: Any) -> None:
        sheet["B3"].comment = Comment("without tax", "a")

    document = _read([["Post", "Euros"], ["Total", "=SUM(B3:B4)"], ["Paint", 310]], change)

    assert document.text == f"Post: Total; Euros: {NOT_COMPUTED}\nPost: Paint; Euros: 310 [comment: without tax]"


@table(
    ("body", "text"),
    [
        ("Fee,2024,2025\nAdult,40,45", "Fee: Adult; 2024: 40; 2025: 45"),
        ("Fee,2024,2025\nAdult,40,45\nSenior,,30", "Fee: Adult; 2024: 40; 2025: 45\nFee: Senior; 2025: 30"),
        ("1,,3\n4,5,6", "1 |  | 3\n4 | 5 | 6"),
        ("Stock report;;\n\nArticle;Shelf;Pieces\nNut;R-1;13", "Stock report\nArticle: Nut; Shelf: R-1; Pieces: 13"),
        ("sep=|\na|b\nx|y", "a: x; b: y"),
        ('Office,Address\nHarbour,"12 Quay\nEllery"', "Office: Harbour; Address: 12 Quay Ellery"),
        ("Name;Wage\nDriver;17,90\nClerk;16,10", "Name: Driver; Wage: 17,90\nName: Clerk; Wage: 16,10"),
        (
            ",2024,,2025,\nDepot,Q1,Q2,Q1,Q2\nLund,1,2,3,4\nTorp,5,6,7,8",
            "Depot: Lund; 2024 Q1: 1; 2024 Q2: 2; 2025 Q1: 3; 2025 Q2: 4\n"
            "Depot: Torp; 2024 Q1: 5; 2024 Q2: 6; 2025 Q1: 7; 2025 Q2: 8",
        ),
        (
            "Staff,,,Machines,\nName,Shift,,Machine,Hall\nOdd,early,,Press,H2",
            "Staff: Machines\n\nName: Odd; Shift: early\nMachine: Press; Hall: H2",
        ),
        ("Code,Name\n007,Ann", "Code: 007; Name: Ann"),
    ],
)
def test_values_stay_under_the_names_of_their_columns(body: str, text: str) -> None:
    assert read_csv(body.encode()).text == text
