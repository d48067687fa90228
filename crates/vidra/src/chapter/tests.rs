use super::*;

/// Start, end and title of each chapter.
fn rows(description: &str, duration: u64) -> Vec<(u64, u64, String)> {
    let read = Chapter::parse_all(description, duration).into_iter();
    let seconds = |time: Seconds| time.as_millis() / 1_000;
    read.map(|chapter| (seconds(chapter.start), seconds(chapter.end), chapter.title)).collect()
}

/// The titles of three lines, at 0:00, 1:00 and 2:00, of which the table gives the first.
fn first_title(line: &str) -> String {
    let list = format!("{line}\n1:00 Second\n2:00 Third");
    rows(&list, 180).first().map_or_else(String::new, |(_, _, title)| title.clone())
}

#[test]
fn a_chapter_ends_where_the_next_one_starts() {
    let description = "Hello\n\n0:00 One\n1:00 Two\nsome text\n\n1:02:03 Three\nThanks!";
    let expected = [(0, 60, "One"), (60, 3_723, "Two"), (3_723, 4_000, "Three")];
    let expected = expected.map(|(start, end, title)| (start, end, title.to_owned()));
    assert_eq!(rows(description, 4_000), expected);
    let json = serde_json::to_value(Chapter::parse_all(description, 4_000)).unwrap();
    assert_eq!(json[1], serde_json::json!({"title": "Two", "start": 60, "end": 3723}));
}

#[test]
fn the_time_can_begin_a_line_in_many_spellings() {
    let table = [
        ("0:00 Intro", "Intro"),
        ("00:00 Intro", "Intro"),
        ("0:00:00 - 0:00:50 Intro", "Intro"),
        ("00:00-00:48 Intro", "Intro"),
        ("00:00–00:48: Intro", "Intro"),
        ("[0:00 - 0:48] Intro", "Intro"),
        ("[0:00]-[0:48] Intro", "Intro"),
        ("0:00 to 0:48 Intro", "Intro"),
        ("[0:00] Intro", "Intro"),
        ("(0:00) Intro", "Intro"),
        ("【0:00】Intro", "Intro"),
        ("*0:00* Intro", "Intro"),
        ("- 0:00 :  Intro", "Intro"),
        ("  • 0:00 — Intro — ", "Intro"),
        ("0:00| Intro:", "Intro"),
        ("0:00. Intro", "Intro"),
        ("⏱️ 0:00 ▶️ Intro", "Intro"),
        ("01 00:00 Intro", "Intro"),
        ("1. 0:00 Intro", "Intro"),
        ("1) [0:00] Intro", "Intro"),
        ("#1 - 0:00 - Intro", "Intro"),
        ("1️⃣ 0:00 Intro", "Intro"),
        ("\u{200b}0:00\u{a0}Intro", "Intro"),
        ("0：00 オープニング", "オープニング"),
        ("０：００ オープニング", "オープニング"),
        ("0:00オープニング", "オープニング"),
        ("0:00 #5: Final Fantasy", "#5: Final Fantasy"),
        ("0:00 (Remix) by [someone]", "(Remix) by [someone]"),
        ("0:00 3 Point Lighting", "3 Point Lighting"),
        ("0:00 .NET and __init__", ".NET and __init__"),
        ("0:00 Genesis 1:11", "Genesis 1:11"),
        ("0:00 - 3:00 AM challenge", "3:00 AM challenge"),
        ("0:00 Love ❤️", "Love ❤️"),
        ("0:00 Why?", "Why?"),
    ];
    for (line, title) in table {
        assert_eq!(first_title(line), title, "{line}");
    }
}

#[test]
fn other_lines_have_no_leading_time() {
    let table = [
        "0:00",
        "0:00 - ",
        "0:00/0:30 Intro",
        "0:00x Intro",
        "0:00.5 Intro",
        "0:00:00:00 Intro",
        "0:0 Intro",
        "0:000 Intro",
        "0;00 Intro",
        "0:00 a.m. Intro",
        "0:00 AM",
        "0:00 Uhr",
        "at 0:00 Intro",
        "Part 1: 0:00 Intro",
        "2026 0:00 Intro",
    ];
    for line in table {
        assert_eq!(first_title(line), "", "{line}");
    }
}

#[test]
fn the_time_can_end_a_line() {
    let lists = [
        "01. Intro 0:00\n02. Middle 1:00\n03. End 2:00",
        "1 - Intro - 0:00\n2 - Middle - 1:00\n3 - End - 2:00 ",
        "- Intro (0:00)\n- Middle (1:00)\n- End (2:00)",
        "Intro ... [0:00 - 0:50]\nMiddle [1:00 - 1:10]\nEnd [2:00 - 2:20]",
        "Intro: *0:00*\nMiddle:1:00\nEnd → 2:00",
        "Intro 0:00-0:50\nMiddle 1:00 to 1:10\nEnd 2：00",
        // A single line that begins with a time does not make a list.
        "20:15 Live\nIntro 0:00\nMiddle 1:00\nEnd 2:00",
    ];
    for list in lists {
        let titles: Vec<String> = rows(list, 180).into_iter().map(|(_, _, title)| title).collect();
        let first = titles.first().map(|title| title.trim_end_matches([' ', '.']));
        assert_eq!((first, titles.len()), (Some("Intro"), 3), "{list}");
        assert_eq!(titles[1..], ["Middle", "End"], "{list}");
    }
    // Numbers that do not count up belong to the titles.
    let titles = rows("3 Wishes 0:00\n7 Days 1:00\n9 Lives 2:00", 180);
    assert_eq!(titles[2].2, "9 Lives");
}

#[test]
fn a_list_follows_the_rules_of_the_platform() {
    let table = [
        ("0:00 A\n0:10 B\n0:20 C", 30, 3),
        // Only a unit makes it a time of day.
        ("0:00 Intro\n1:30 Am Strand\n3:00 Ende", 600, 3),
        ("0:00 Intro\n1:30 AM\n3:00 Middle\n4:00 End", 600, 3),
        // Too few.
        ("0:00 A\n0:10 B", 30, 0),
        ("", 30, 0),
        // It does not begin at 0:00.
        ("0:01 A\n0:15 B\n0:30 C", 60, 0),
        ("1:19 A\n0:00 B\n2:00 C\n3:00 D", 600, 0),
        // A chapter is too short, also the last one.
        ("0:00 A\n0:09 B\n0:20 C", 60, 0),
        ("0:00 A\n0:10 B\n0:20 C", 29, 0),
        // The times do not ascend.
        ("0:00 A\n1:00 B\n0:30 C\n2:00 D", 600, 0),
        ("0:00 A\n1:00 B\n1:00 C\n2:00 D", 600, 0),
        // A time beyond the end of the video, and a video without a length.
        ("0:00 A\n1:00 B\n2:00 C\n9:00 D", 300, 0),
        ("0:00 A\n1:00 B\n2:00 C", 0, 0),
        // All in one line.
        ("Intro 0:00 A 1:00 B 2:00 C", 600, 0),
        ("0:00 A 1:00 B 2:00 C", 600, 0),
        // Lines end in many ways; minutes can exceed an hour.
        ("0:00 A\r\n1:00 B\r2:00 C\u{2028}75:30 D", 10_000, 4),
    ];
    for (description, duration, count) in table {
        assert_eq!(rows(description, duration).len(), count, "{description:?}");
    }
}

#[test]
fn a_hostile_description_costs_little() {
    let long = "0:00 - ".repeat(200_000);
    assert_eq!(rows(&long, 100), []);
    let digits = "1".repeat(1_000_000);
    assert_eq!(rows(&digits, 100), []);
    let lines = "0:00 A\n".repeat(100_000);
    assert_eq!(rows(&lines, u64::MAX), []);
}
