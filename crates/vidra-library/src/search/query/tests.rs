use super::*;

/// A query in a short form: clauses are separated by `;`, alternatives by `|`, tokens by spaces; `*` ends a prefix,
/// `t:` begins a title, `-` an exclusion.
fn shown(query: &TextQuery) -> String {
    let atom = |it: &Atom| {
        let (title, star) =
            (if it.is_title { "t:" } else { "" }, if it.is_prefix { "*" } else { "" });
        format!("{title}{}{star}", it.tokens.join(" "))
    };
    let clause = |it: &Clause| it.atoms.iter().map(atom).collect::<Vec<_>>().join("|");
    let clauses = query.clauses.iter().map(clause);
    clauses
        .chain(query.excluded.iter().map(|it| format!("-{}", atom(it))))
        .collect::<Vec<_>>()
        .join(";")
}

#[test]
fn queries_are_read() {
    let table = [
        ("climate change", "climate;change"),
        ("\"climate change\" now", "climate change;now"),
        ("a OR b c", "a|b;c"),
        ("a OR b OR \"c d\"", "a|b|c d"),
        ("or and not near", "or;and;not;near"),
        ("cats -dogs -\"big cats\"", "cats;-dogs;-big cats"),
        ("nucl* power", "nucl*;power"),
        ("\"climate chang*\"", "climate chang*"),
        ("title:review gpu", "t:review;gpu"),
        ("title:\"deep dive\" -title:short x", "t:deep dive;x;-t:short"),
        ("“climate change” –cats «a b» Title:x", "climate change;a b;t:x;-cats"),
        ("don't e-mail", "don t;e mail"),
        ("Rock & Roll", "rock;roll"),
        ("a & OR b", "a|b"),
        ("http://example.com", "http example com"),
        ("東京", "東京"),
        ("東京都", "東京 京都"),
        ("京", "京*"),
        ("京*", "京*"),
        ("我 是 一 个 人", "我*;是*;一*;个*;人*"),
        ("東京AI", "東京 京 ai"),
        ("\"東京 tower\"", "東京 京 tower"),
        ("\"tower 東\"", "tower 東*"),
        ("צה\"ל", "צהל"),
        ("a\"b c\"d", "a;b c;d"),
        ("Straße", "strasse"),
        ("  spaced   out  ", "spaced;out"),
        ("-", ""),
    ];
    for (text, expected) in table {
        match TextQuery::parse(text) {
            Ok(query) => assert_eq!(shown(&query), expected, "{text}"),
            Err(_) => assert_eq!("", expected, "{text}"),
        }
    }
}

#[test]
fn faults_have_their_position() {
    let long = "a ".repeat(251);
    let many = vec!["word"; 17].join(" ");
    let words = ["one two three four five six seven eight nine"; 8].join("\" \"");
    let words = format!("\"{words}\"");
    let table = [
        ("", "must have at least one word"),
        ("&&& ...", "must have at least one word"),
        ("-cats", "must have a word without - before it"),
        ("say \"hello", "position 5: the quotation mark is not closed"),
        ("x \"\"", "position 3: the phrase has no word"),
        ("it\"s", "position 3: the quotation mark is not closed"),
        ("OR cats", "position 1: OR needs a word on both sides"),
        ("cats OR", "position 6: OR needs a word on both sides"),
        ("cats OR OR dogs", "position 9: OR needs a word on both sides"),
        ("cats OR -dogs", "position 9: OR cannot be combined with -"),
        ("-cats OR dogs", "position 7: OR cannot be combined with -"),
        ("x -cats OR dogs", "position 9: OR cannot be combined with -"),
        ("x & OR", "position 5: OR needs a word on both sides"),
        ("x title:-cats", "position 9: - must be before title:"),
        ("say \"a* b\"", "position 7: * can only be at the end of a word"),
        ("über a*", "position 6: * needs at least 2 characters before it"),
        ("a*b", "position 2: * can only be at the end of a word"),
        ("*", "position 1: there is no word"),
        ("x title:", "position 9: there is no word"),
        ("aa* bb* cc* dd* ee*", "position 17: a query has at most 4 prefixes"),
        (long.as_str(), "must have at most 500 characters, and has 502"),
        (many.as_str(), "position 81: a query has at most 16 words and phrases"),
        (words.as_str(), "position 330: a query has at most 64 words"),
    ];
    for (text, fault) in table {
        let error = TextQuery::parse(text).unwrap_err();
        assert_eq!(error.details(), [format!("q: {fault}")], "{text}");
        assert_eq!(error.reason(), vidra::Reason::InvalidInput);
    }
}
