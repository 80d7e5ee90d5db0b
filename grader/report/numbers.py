"""Numbers as text, in the language of the report: Russian writes 6,06 % and 63 488, English 6.06 % and 63,488."""

from __future__ import annotations

NO_BREAK_SPACE = "\u00a0"
NARROW_NO_BREAK_SPACE = "\u202f"


class Numbers:
    """Formats numbers for one language; whole numbers carry no decimals, trailing zeros are dropped."""

    def __init__(self, language: str) -> None:
        russian = language == "ru"
        self._whole_ratios = not russian
        self._decimal = "," if russian else "."
        self._thousands = NARROW_NO_BREAK_SPACE if russian else ","

    def count(self, value: int) -> str:
        """An integer, digits grouped by thousands from five digits on (four are read at a glance)."""
        return f"{value:,}".replace(",", self._thousands) if abs(value) >= 10_000 else str(value)

    def decimal(self, value: float, digits: int = 2) -> str:
        """`value` with at most `digits` decimals."""
        text = f"{value:.{digits}f}"
        if "." in text:
            text = text.rstrip("0").rstrip(".")
        whole, _, rest = text.partition(".")
        if whole.lstrip("-").isdigit():
            whole = self.count(int(whole)) if whole != "-0" else whole
        text = f"{whole}{self._decimal}{rest}" if rest else whole
        return "0" if text == "-0" else text

    def ratio(self, value: float) -> str:
        """How many times more: one decimal.  Russian keeps it in 8,0 too, so that the noun after it has one form."""
        text = self.decimal(value, 1)
        return text if self._whole_ratios or self._decimal in text else f"{text}{self._decimal}0"

    def points(self, value: float) -> str:
        """Points of a mark: at most two decimals."""
        return self.decimal(value, 2)

    def percent(self, value: float) -> str:
        """`value` per cent, with a space that does not break."""
        return f"{self.decimal(value, 2)}{NO_BREAK_SPACE}%"

    def microseconds(self, value: float) -> str:
        """A time in µs with three significant digits or so."""
        return f"{self.decimal(value, 2 if value < 100 else 1)}{NO_BREAK_SPACE}µs"

    def error(self, value: float) -> str:
        """A numerical error: 0 as 0, else one significant decimal in powers of ten."""
        if value == 0:
            return "0"
        mantissa, exponent = f"{value:.1e}".split("e")
        return f"{mantissa.replace('.', self._decimal)}e{int(exponent)}"
