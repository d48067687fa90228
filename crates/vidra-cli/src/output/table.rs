//! Tables with one line per row. On a narrow terminal, columns of free text shrink first, then the last
//! columns are left out.

use unicode_segmentation::UnicodeSegmentation;
use unicode_width::UnicodeWidthStr;

use crate::terminal::{FAINT, one_line, styled};

/// A table with one line per item.
pub(crate) struct Table<'a, T> {
    items: &'a [T],
    columns: Vec<Column>,
}

struct Column {
    kind: Kind,
    name: &'static str,
    cells: Vec<String>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    Word,
    Number,
    Text,
}

/// The space between two columns.
const GAP: usize = 2;

/// The minimum width of a column of text.
const LEAST_TEXT: usize = 12;

impl<'a, T> Table<'a, T> {
    pub(crate) fn new(items: &'a [T]) -> Self {
        Self { items, columns: vec![] }
    }

    /// Adds a column of short text, which is never cut.
    pub(crate) fn word<C: ToString>(self, name: &'static str, cell: impl Fn(&T) -> C) -> Self {
        self.column(Kind::Word, name, cell)
    }

    /// Adds a column of numbers, aligned to the right.
    pub(crate) fn number<C: ToString>(self, name: &'static str, cell: impl Fn(&T) -> C) -> Self {
        self.column(Kind::Number, name, cell)
    }

    /// Adds a column of text of any length, which may be cut.
    pub(crate) fn text<C: ToString>(self, name: &'static str, cell: impl Fn(&T) -> C) -> Self {
        self.column(Kind::Text, name, cell)
    }

    fn column<C: ToString>(
        mut self,
        kind: Kind,
        name: &'static str,
        cell: impl Fn(&T) -> C,
    ) -> Self {
        let cells = self.items.iter().map(|item| one_line(&cell(item).to_string())).collect();
        self.columns.push(Column { kind, name, cells });
        self
    }

    /// Writes the rows below their headers, without trailing spaces.
    pub(crate) fn written(&self, width: Option<usize>) -> String {
        let widths = self.fitting(width);
        let mut text = styled(FAINT, self.line(&widths, |column| column.name)) + "\n";
        for row in 0..self.items.len() {
            text += &self.line(&widths, |column| &column.cells[row]);
            text.push('\n');
        }
        text
    }

    /// The widths of the columns that fit.
    fn fitting(&self, width: Option<usize>) -> Vec<usize> {
        let widest = |column: &Column| {
            let cells = column.cells.iter().map(|cell| cell.width());
            cells.chain([column.name.width()]).max().unwrap_or(0)
        };
        let mut widths: Vec<usize> = self.columns.iter().map(widest).collect();
        let width = width.unwrap_or(usize::MAX);
        let total =
            |widths: &[usize]| widths.iter().sum::<usize>() + GAP * widths.len().saturating_sub(1);
        while total(&widths) > width {
            let is_long = |index: &usize| {
                self.columns[*index].kind == Kind::Text && widths[*index] > LEAST_TEXT
            };
            match (0..widths.len()).filter(is_long).max_by_key(|index| widths[*index]) {
                Some(widest) => widths[widest] -= 1,
                None if widths.len() > 1 => drop(widths.pop()),
                None => break,
            }
        }
        widths
    }

    fn line<'c>(&'c self, widths: &[usize], cell: impl Fn(&'c Column) -> &'c str) -> String {
        let cells = self.columns.iter().zip(widths).map(|(column, width)| {
            let cell = cut(cell(column), *width);
            let padding = " ".repeat(width.saturating_sub(cell.width()));
            match column.kind {
                Kind::Number => padding + &cell,
                Kind::Word | Kind::Text => cell + &padding,
            }
        });
        let cells: Vec<String> = cells.collect();
        cells.join(&" ".repeat(GAP)).trim_end().to_owned()
    }
}

/// The beginning of a text that fits into a width, in whole characters.
pub(crate) fn cut(text: &str, width: usize) -> String {
    if text.width() <= width {
        return text.to_owned();
    }
    let mut cut = String::new();
    for grapheme in text.graphemes(true) {
        if cut.width() + grapheme.width() + 1 > width {
            break;
        }
        cut += grapheme;
    }
    cut.trim_end().to_owned() + "…"
}

#[cfg(test)]
mod tests {
    use super::*;

    fn plain(rows: &[[&str; 3]], width: Option<usize>) -> Vec<String> {
        let table = Table::new(rows)
            .word("id", |row| row[0].to_owned())
            .text("title", |row| row[1].to_owned())
            .number("views", |row| row[2].to_owned());
        let text = table.written(width);
        anstream::adapter::strip_str(&text).to_string().lines().map(str::to_owned).collect()
    }

    #[test]
    fn columns_fit_their_widest_cell() {
        let rows = [["a", "Saudade em Três", "9"], ["bb", "二胡", "1.2K"]];
        let expected = [
            "id  title            views",
            "a   Saudade em Três      9",
            "bb  二胡              1.2K",
        ];
        assert_eq!(plain(&rows, None), expected);
    }

    #[test]
    fn text_columns_are_truncated_to_the_line_width() {
        let rows =
            [["a", "a title that goes on\nand on", "9"], ["bb", "二胡二胡二胡二胡二胡", "12"]];
        let lines = plain(&rows, Some(25));
        assert!(lines.iter().all(|line| line.width() <= 25), "{lines:#?}");
        assert!(
            lines[1].contains("a title that…") && lines[2].contains("二胡二胡二胡…"),
            "{lines:#?}"
        );
        // Columns are dropped from the end until the rest fits.
        assert_eq!(plain(&rows, Some(16))[0], "id  title");
        assert_eq!(plain(&rows, Some(10))[0], "id");
    }
}
