//! Tables with one line per row. On a narrow terminal, columns of free text shrink first, then the last
//! columns are left out.

use unicode_segmentation::UnicodeSegmentation;
use unicode_width::UnicodeWidthStr;

use crate::terminal::{FAINT, one_line, styled};

/// A column: its header and its alignment.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Column {
    /// Short text, which is never cut.
    Word(&'static str),
    /// A number, aligned to the right.
    Number(&'static str),
    /// Text of any length, which may be cut.
    Text(&'static str),
}

impl Column {
    fn name(self) -> &'static str {
        match self {
            Self::Word(name) | Self::Number(name) | Self::Text(name) => name,
        }
    }
}

/// The space between two columns.
const GAP: usize = 2;

/// The minimum width of a column of text.
const LEAST_TEXT: usize = 12;

/// Writes the rows below their headers, without trailing spaces.
pub(crate) fn table(columns: &[Column], rows: &[Vec<String>], width: Option<usize>) -> String {
    let rows: Vec<Vec<String>> =
        rows.iter().map(|row| row.iter().map(|cell| one_line(cell)).collect()).collect();
    let widest = |index: usize| {
        let cells = rows.iter().map(|row| row[index].width());
        cells.chain([columns[index].name().width()]).max().unwrap_or(0)
    };
    let widths = fitting(columns, (0..columns.len()).map(widest).collect(), width);
    let names: Vec<String> = columns.iter().map(|column| column.name().to_owned()).collect();
    let mut text = styled(FAINT, line(columns, &names, &widths)) + "\n";
    for row in &rows {
        text += &line(columns, row, &widths);
        text.push('\n');
    }
    text
}

/// The widths of the columns that fit.
fn fitting(columns: &[Column], mut widths: Vec<usize>, width: Option<usize>) -> Vec<usize> {
    let Some(width) = width else { return widths };
    let total =
        |widths: &[usize]| widths.iter().sum::<usize>() + GAP * widths.len().saturating_sub(1);
    loop {
        let excess = total(&widths).saturating_sub(width);
        let texts = (0..widths.len()).filter(|index| matches!(columns[*index], Column::Text(_)));
        let widest = texts.max_by_key(|index| widths[*index]);
        match widest.filter(|widest| widths[*widest] > LEAST_TEXT) {
            _ if excess == 0 => return widths,
            Some(widest) => widths[widest] -= 1,
            None if widths.len() > 1 => drop(widths.pop()),
            None => return widths,
        }
    }
}

fn line(columns: &[Column], cells: &[String], widths: &[usize]) -> String {
    let mut line = String::new();
    for ((column, cell), width) in columns.iter().zip(cells).zip(widths) {
        if !line.is_empty() {
            line += &" ".repeat(GAP);
        }
        let cell = cut(cell, *width);
        let padding = " ".repeat(width.saturating_sub(cell.width()));
        match column {
            Column::Number(_) => line += &(padding + &cell),
            Column::Word(_) | Column::Text(_) => line += &(cell + &padding),
        }
    }
    line.trim_end().to_owned()
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

    const COLUMNS: [Column; 3] =
        [Column::Word("id"), Column::Text("title"), Column::Number("views")];

    fn plain(rows: &[[&str; 3]], width: Option<usize>) -> Vec<String> {
        let rows: Vec<Vec<String>> =
            rows.iter().map(|row| row.iter().map(|cell| (*cell).to_owned()).collect()).collect();
        let text = table(&COLUMNS, &rows, width);
        anstream::adapter::strip_str(&text).to_string().lines().map(str::to_owned).collect()
    }

    #[test]
    fn columns_are_as_wide_as_what_they_hold() {
        let rows = [["a", "Saudade em Três", "9"], ["bb", "二胡", "1.2K"]];
        let expected = [
            "id  title            views",
            "a   Saudade em Três      9",
            "bb  二胡              1.2K",
        ];
        assert_eq!(plain(&rows, None), expected);
    }

    #[test]
    fn text_gives_way_and_no_line_is_too_long() {
        let rows =
            [["a", "a title that goes on\nand on", "9"], ["bb", "二胡二胡二胡二胡二胡", "12"]];
        let lines = plain(&rows, Some(25));
        assert!(lines.iter().all(|line| line.width() <= 25), "{lines:#?}");
        assert!(
            lines[1].contains("a title that…") && lines[2].contains("二胡二胡二胡…"),
            "{lines:#?}"
        );
        // Columns are left out from the end until the rest fits.
        assert_eq!(plain(&rows, Some(16))[0], "id  title");
        assert_eq!(plain(&rows, Some(10))[0], "id");
    }
}
