"""The report as a page, and as the PDF of that page: its parts, each a view of plain text."""
